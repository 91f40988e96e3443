// What a page does with fetch: for Chromium to evaluate, and for Node.js.
// `it`: origin, csrf, cookie (Node.js has no jar of its own), name of the object to make.
async (it) => {
  const objects = `${it.origin}/k8s/api/v1/namespaces/demo/configmaps`;
  const fields = it.cookie ? { Cookie: it.cookie, Origin: it.origin } : {};
  const ask = (url, options = {}) =>
    fetch(url, { ...options, headers: { ...fields, ...options.headers } });
  const status = async (url, options) => {
    const answer = await ask(url, options);
    await answer.arrayBuffer();
    return answer.status;
  };
  const small = new Set();
  for (let asked = 0; asked < 20; asked++) small.add(await status(`${objects}/filler-000000`));
  for (const answered of await Promise.all(Array(12).fill(`${objects}/filler-000000`).map((url) => status(url)))) {
    small.add(answered);
  }

  const body = JSON.stringify({ apiVersion: "v1", kind: "ConfigMap", metadata: { name: it.name } });
  const change = { method: "POST", body, headers: { "Content-Type": "application/json" } };
  const unproven = await status(objects, change);
  const proven = { ...change, headers: { ...change.headers, "X-CSRF-Token": it.csrf } };
  const created = await status(objects, proven);
  const twice = await status(objects, proven);

  const list = await (await ask(objects)).json();

  const leave = new AbortController();
  const one = `${objects}?watch=1&fieldSelector=metadata.name%3D${it.name}`;
  const watch = await ask(one, { signal: leave.signal });
  const reader = watch.body.pipeThrough(new TextDecoderStream()).getReader();
  const watched = [];
  let ending = null;
  for (let rest = ""; watched.length < 2; ) {
    const { value } = await reader.read();
    const lines = (rest + value).split("\n");
    rest = lines.pop();
    for (const line of lines) {
      watched.push(JSON.parse(line).type);
      if (watched.length === 1) await status(`${objects}/${it.name}`, { method: "DELETE", headers: proven.headers });
    }
  }
  leave.abort();
  await reader.read().catch((error) => { ending = error.name; });

  return {
    small: [...small],
    unproven,
    created,
    twice,
    listed: list.items.length >= 300,
    watched,
    ending,
    missing: await status(`${objects}/none`),
    odd: await status(`${it.origin}/k8s/api/v1//pods`),
    nobody: await fetch(objects, { credentials: "omit" }).then((answer) => answer.status),
    after: await status(`${objects}/filler-000000`),
  };
}
