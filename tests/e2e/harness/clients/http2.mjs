// Node.js's own HTTP/2 client: the same over one connection. `it` is JSON on the command line.
import { connect, constants } from "node:http2";

const it = JSON.parse(process.argv[2]);
const objects = "/k8s/api/v1/namespaces/demo/configmaps";
const session = connect(it.origin);
const fields = { cookie: it.cookie, origin: it.origin };

const ask = (path, headers = {}, body = undefined) =>
  new Promise((answered, failed) => {
    const stream = session.request({ ":path": path, ...headers }, { endStream: body === undefined });
    stream.on("error", failed);
    stream.on("response", (head) => answered({ stream, status: head[":status"] }));
    if (body !== undefined) stream.end(body);
  });

const whole = async (path, headers = fields, body = undefined) => {
  const { stream, status } = await ask(path, headers, body);
  let content = "";
  stream.setEncoding("utf8");
  for await (const piece of stream) content += piece;
  return { status, content };
};
const status = async (...request) => (await whole(...request)).status;

const small = new Set();
for (const one of await Promise.all(Array(50).fill(`${objects}/filler-000000`).map((path) => whole(path)))) {
  small.add(one.status);
}
const body = JSON.stringify({ apiVersion: "v1", kind: "ConfigMap", metadata: { name: it.name } });
const change = { ...fields, ":method": "POST", "content-type": "application/json" };
const proven = { ...change, "x-csrf-token": it.csrf };
const unproven = await status(objects, change, body);
const created = await status(objects, proven, body);
const twice = await status(objects, proven, body);
const list = JSON.parse((await whole(objects)).content);

const watch = await ask(`${objects}?watch=1&fieldSelector=metadata.name%3D${it.name}`, fields);
const watched = [];
const left = new Promise((closed) => watch.stream.on("close", closed));
watch.stream.setEncoding("utf8");
await new Promise((seen) => {
  let rest = "";
  watch.stream.on("data", async (piece) => {
    const lines = (rest + piece).split("\n");
    rest = lines.pop();
    for (const line of lines) {
      watched.push(JSON.parse(line).type);
      if (watched.length === 1) await status(`${objects}/${it.name}`, { ...proven, ":method": "DELETE" });
      if (watched.length === 2) seen();
    }
  });
});
watch.stream.close(constants.NGHTTP2_CANCEL);
await left;
const ending = watch.stream.rstCode === constants.NGHTTP2_CANCEL ? "AbortError" : null;

const report = {
  small: [...small],
  unproven,
  created,
  twice,
  listed: list.items.length >= 300,
  watched,
  ending,
  missing: await status(`${objects}/none`),
  odd: await status("/k8s/api/v1//pods"),
  nobody: await status(objects, {}),
  after: await status(`${objects}/filler-000000`),
};
session.close();
console.log(JSON.stringify(report));
