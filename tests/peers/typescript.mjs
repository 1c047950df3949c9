// The bookshop on the official TypeScript SDK: what a client meets when the other end is not Rust.
//
//   node typescript.mjs                                    over stdio, until stdin closes
//   node typescript.mjs --http PORT [--life SECONDS]       over HTTP on 127.0.0.1; 0 takes a free port
//   node typescript.mjs --http PORT --stateless            the same without sessions
//
// Its twin is python.py: both have the same tools with the same behaviour, as far as their SDKs let them.
import { randomUUID } from "node:crypto";
import { appendFileSync } from "node:fs";
import { createServer } from "node:http";
import { json } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";
import {
  NodeStreamableHTTPServerTransport,
  localhostHostValidation,
  localhostOriginValidation,
  toNodeHandler,
  toWebRequest,
} from "@modelcontextprotocol/node";
import { McpServer, createMcpHandler, isLegacyRequest } from "@modelcontextprotocol/server";
import { serveStdio } from "@modelcontextprotocol/server/stdio";
import { z } from "zod";

const text = (text) => ({ content: [{ type: "text", text }] });

function bookshop() {
  const server = new McpServer({ name: "bookshop-typescript", version: "1.0.0" });
  server.registerTool(
    "get_author",
    {
      description: "Who wrote a book",
      inputSchema: z.object({ title: z.string() }),
      annotations: { readOnlyHint: true, idempotentHint: true },
    },
    // The SDK's way of a failure that the author foresaw: a result that says so.
    ({ title }) => (title === "Dune" ? text("Frank Herbert") : { ...text(`no book called ${title}`), isError: true }),
  );
  server.registerTool(
    "reserve",
    {
      description: "Reserves a copy: one line in the ledger, then the answer, `seconds` later",
      inputSchema: z.object({ title: z.string(), seconds: z.number(), ledger: z.string() }),
      annotations: { readOnlyHint: false, idempotentHint: false },
    },
    async ({ title, seconds, ledger }) => {
      // Written first: who loses the answer can still count what was done.
      appendFileSync(ledger, `${title}\n`);
      await sleep(seconds * 1000);
      return text("reserved");
    },
  );
  server.registerTool("crash", { description: "Fails as a bug does" }, () => {
    throw new Error("the shelf fell over");
  });
  server.registerTool("pid", { description: "The process that answers" }, () => text(String(process.pid)));
  server.registerTool(
    "typed",
    { description: "Promises a number and returns a word", outputSchema: z.object({ copies: z.number() }) },
    () => ({ ...text("many"), structuredContent: { copies: "many" } }),
  );
  return server;
}

function answer(response, status, code, message) {
  response.writeHead(status, { "content-type": "application/json" });
  response.end(JSON.stringify({ jsonrpc: "2.0", error: { code, message }, id: null }));
}

// The SDK leaves the map of sessions to the application, and the answer to an id that is not in it; only clients of the
// revisions up to 2025 have sessions at all.
function withSessions() {
  const sessions = new Map();
  const modern = toNodeHandler(createMcpHandler(bookshop, { legacy: "reject" }));
  return async (request, response) => {
    let body;
    try {
      body = request.method === "POST" ? await json(request) : undefined;
    } catch {
      return answer(response, 400, -32700, "Parse error: Invalid JSON");
    }
    if (!(await isLegacyRequest(await toWebRequest(request, body), body))) return modern(request, response, body);
    const id = request.headers["mcp-session-id"];
    if (sessions.has(id)) return sessions.get(id).handleRequest(request, response, body);
    if (id !== undefined) return answer(response, 404, -32001, "Session not found");
    const transport = new NodeStreamableHTTPServerTransport({
      sessionIdGenerator: () => randomUUID(),
      onsessioninitialized: (id) => void sessions.set(id, transport),
    });
    transport.onclose = () => sessions.delete(transport.sessionId);
    await bookshop().connect(transport);
    return transport.handleRequest(request, response, body);
  };
}

function serveHttp(port, life, stateless) {
  const handle = stateless ? toNodeHandler(createMcpHandler(bookshop)) : withSessions();
  const guards = [localhostHostValidation(), localhostOriginValidation()];
  const http = createServer((request, response) => {
    if (!guards.every((allows) => allows(request, response))) return;
    if (request.url.split("?")[0] === "/mcp") return void handle(request, response);
    response.writeHead(404).end();
  });
  http.listen(port, "127.0.0.1", () => console.error(`http://127.0.0.1:${http.address().port}/mcp`));
  // A test that dies leaves no server behind.
  setTimeout(() => process.exit(0), life * 1000);
}

const { values } = parseArgs({
  options: {
    http: { type: "string" },
    life: { type: "string", default: "120" },
    stateless: { type: "boolean", default: false },
  },
});
if (values.http === undefined) {
  serveStdio(bookshop);
  // A call may still be asleep; nobody is left who would read its answer.
  process.stdin.on("close", () => process.exit(0));
} else {
  serveHttp(Number(values.http), Number(values.life), values.stateless);
}
