"""The access page: what was asked, what the API server said, and nothing of it as markup."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foyer.exchange.ports import Answer
from foyer.identity.access import Form
from foyer.k8s.reviews import Decision, Refused, Rule, Rules
from foyer.pages.render import MAX_RULES, MAX_SAID, MAX_WORDS, Pages
from tests.pages.documents import Document, assert_is_page

PAGES = Pages()

UNASKED = Form("demo", "", "", "", "")
ASKED = Form("demo", "get", "pods", "", "")
NO_RULES = Rules((), False, "")


def page(
    form: Form = UNASKED,
    rules: Rules | Refused | None = NO_RULES,
    decision: Decision | Refused | None = None,
    person: str = "ada@example.test",
) -> Document:
    return assert_is_page(PAGES.access(person, form, rules, decision), forms=2)


def text(document: Document) -> str:
    return " ".join(document.text.split())


def rule(
    verbs: tuple[str, ...] = ("get",),
    groups: tuple[str, ...] = ("",),
    resources: tuple[str, ...] = ("pods",),
    names: tuple[str, ...] = (),
    urls: tuple[str, ...] = (),
) -> Rule:
    return Rule(verbs, groups, resources, names, urls)


def test_it_says_who_is_asked_about() -> None:
    assert "signed in as ada@example.test" in text(page())


@pytest.mark.parametrize("form", [Form("demo", "get", "", "", ""), Form("demo", "", "pods", "", "")])
def test_half_a_question_is_answered_with_what_one_needs(form: Form) -> None:
    assert "A question needs a verb and a resource." in text(page(form))
    assert "A question needs" not in text(page()) + text(page(ASKED, decision=Decision(True, "", "")))


def test_every_field_has_its_label_and_what_was_filled_in() -> None:
    form = Form("demo", "get", "pods/log", "apps", "one")
    document = page(form, decision=Decision(True, "", ""))
    inputs = [attributes for tag, attributes in document.elements if tag == "input"]
    labels = [attributes["for"] for tag, attributes in document.elements if tag == "label"]
    assert labels == [attributes["id"] for attributes in inputs]
    filled = {str(attributes["name"]): attributes["value"] for attributes in inputs}
    assert filled == {name: value for name, value in form._asdict().items() if name != "target"}
    hints = {attributes["aria-describedby"] for attributes in inputs if "aria-describedby" in attributes}
    assert hints <= {attributes.get("id") for _, attributes in document.elements}


@pytest.mark.parametrize(
    ("form", "sentence"),
    [
        (ASKED, "you may get pods in demo."),
        (ASKED._replace(namespace=""), "you may get pods across all namespaces."),
        (ASKED._replace(group="apps", name="one"), "you may get pods of apps named one in demo."),
        (ASKED._replace(resource="/version", name="one"), "you may get /version."),
    ],
)
def test_an_answer_says_what_was_asked(form: Form, sentence: str) -> None:
    rules = NO_RULES if form.namespace else None
    assert "Yes, " + sentence in text(page(form, rules, Decision(True, "", "")))
    refusal = sentence.replace("you may", "you may not")
    assert "No, " + refusal in text(page(form, rules, Decision(False, "", "")))


def test_without_a_question_there_is_no_answer() -> None:
    assert "you may not" not in text(page(ASKED._replace(verb="")))


def test_what_the_authorizer_says_is_text_and_not_endless() -> None:
    document = page(ASKED, decision=Decision(False, "<b>no</b>", "x " * MAX_SAID))
    assert "<b>no</b>" in document.text
    assert document.text.count("x ") <= MAX_SAID


def test_a_rule_says_what_it_is_about() -> None:
    rules = (
        rule(("get", "list"), ("",), ("pods", "services")),
        rule(("*",), ("apps", ""), ("deployments",), ("one", "two")),
        rule((), (), (), (), ("/healthz", "/version")),
    )
    shown = text(page(rules=Rules(rules, False, "")))
    assert "get, list pods, services" in shown
    assert "deployments of apps and the core group only one, two" in shown
    assert "/healthz, /version" in shown
    assert "incomplete" not in shown


def test_an_incomplete_list_says_so_even_when_empty() -> None:
    shown = text(page(rules=Rules((), True, "the <webhook> cannot")))
    assert "This list is incomplete." in shown
    assert "the <webhook> cannot" in shown


def test_no_rules_are_said_to_be_none() -> None:
    assert "There are none" in text(page())


def test_without_a_namespace_there_are_no_rules_to_list() -> None:
    shown = text(page(UNASKED._replace(namespace=""), None))
    assert "name one" in shown
    assert "There are none" not in shown


def test_a_refusal_is_shown_in_the_place_of_what_was_refused() -> None:
    refused = Refused(Answer(403, [], b"{}"), "<i>forbidden</i>")
    shown = text(page(ASKED, refused, Decision(True, "", "")))
    assert "refused to say (403). <i>forbidden</i>" in shown
    assert "Yes, you may" in shown
    shown = text(page(ASKED, NO_RULES, refused))
    assert "refused to say (403)" in shown
    assert "There are none" in shown


@pytest.mark.parametrize("more", [0, 1])
def test_a_long_list_is_cut_and_says_so(more: int) -> None:
    rules = Rules((rule(),) * (MAX_RULES + more), False, "")
    document = page(rules=rules)
    assert [tag for tag, _ in document.elements].count("li") == MAX_RULES
    assert ("These are the first" in text(document)) is bool(more)


@pytest.mark.parametrize("more", [0, 1])
def test_a_long_rule_is_cut_and_says_so(more: int) -> None:
    document = page(rules=Rules((rule(resources=("pods",) * (MAX_WORDS + more)),), False, ""))
    assert document.text.count("pods,") <= MAX_WORDS
    assert ("and 1 more" in text(document)) is bool(more)


TEXT = st.text(max_size=8) | st.sampled_from(['"><script>', "</li>", "{{ 7*7 }}", "'", "&lt;", "\u202e"])


@given(TEXT, TEXT, TEXT)
def test_whatever_is_in_it_the_page_keeps_its_elements(one: str, two: str, three: str) -> None:
    form = Form(one, two, three, one, two)
    rules = Rules((rule((one,), (two,), (three,), (one,)), rule(urls=(two,))), True, three)
    document = page(form, rules, Decision(False, one, two), person=one)
    assert "49" not in document.text or "49" in one + two + three


# Several API servers


def chosen(form: Form, targets: tuple[str, ...] = ("eu", "us-1")) -> Document:
    return assert_is_page(PAGES.access("ada", form, NO_RULES, Decision(True, "", ""), targets), forms=3)


def hidden(document: Document) -> list[tuple[str | None, str | None]]:
    return [
        (attributes["name"], attributes["value"])
        for tag, attributes in document.elements
        if tag == "input" and attributes.get("type") == "hidden"
    ]


def test_with_several_it_says_which_one_answered_and_lets_one_choose() -> None:
    document = chosen(Form("demo", "get", "", "", "", "us-1"))
    assert "The answers here are those of us-1, one of 2 API servers" in text(document)
    [select] = [attributes for tag, attributes in document.elements if tag == "select"]
    assert (select["id"], select["name"]) == ("target", "target")
    options = [attributes for tag, attributes in document.elements if tag == "option"]
    assert [attributes for attributes in options if "value" not in attributes] == [{}, {"selected": None}]


def test_who_chooses_another_keeps_the_question_and_who_asks_keeps_the_choice() -> None:
    document = chosen(Form("", "get", "pods", "", "a", "eu"))
    question = [("namespace", ""), ("verb", "get"), ("resource", "pods"), ("name", "a")]
    assert hidden(document) == [*question, ("target", "eu"), ("target", "eu")]


def test_with_one_there_is_nothing_to_choose() -> None:
    for targets in ((), ("eu",)):
        document = assert_is_page(PAGES.access("ada", UNASKED, NO_RULES, None, targets), forms=2)
        assert not [tag for tag, _ in document.elements if tag == "select"]
        assert hidden(document) == []
        assert "eu" not in text(document)
