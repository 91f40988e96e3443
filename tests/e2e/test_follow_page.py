"""The page in docs/page-authors.md that follows notes, in Chromium, before the demo."""

import re
from pathlib import Path

from playwright.sync_api import expect

from tests.e2e.harness.demo import ADA, NOTES
from tests.e2e.harness.helper import Visit, call

TEXT = (Path(__file__).parents[2] / "docs" / "page-authors.md").read_text()


def test_the_page_in_the_documentation_shows_what_there_is_and_what_changes(visit: Visit) -> None:
    (script,) = [
        block for block in re.findall(r"```js\n(.*?)```", TEXT, re.DOTALL) if "follow(scope, (" in block
    ]
    script = re.sub(r'import (\{.*?\}) from ("[^"]+")', r"const \1 = await import(\2)", script)
    page = visit(ADA)
    page.evaluate("""() => { document.body.innerHTML = '<p id="state"></p><ul id="list"></ul>'; }""")
    page.evaluate(f"async () => {{ {script} }}")
    expect(page.locator("#state")).to_contain_text("live")
    assert page.get_by_role("listitem").count() > 0
    text = "As the documentation says"
    body = {
        "kind": "Note",
        "apiVersion": "example.com/v1",
        "metadata": {"generateName": "n-"},
        "spec": {"text": text},
    }
    created = call(page, "k8s(...it)", [NOTES, {"method": "POST", "body": body}])
    expect(page.get_by_role("listitem").filter(has_text=text)).to_be_visible()
    call(page, "k8s(it, { method: 'DELETE' })", f"{NOTES}/{created['content']['metadata']['name']}")
    expect(page.get_by_role("listitem").filter(has_text=text)).to_have_count(0)
