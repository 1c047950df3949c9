"""The bookshop on the official Python SDK: what a client meets when the other end is not Rust.

    python python.py                                    over stdio, until stdin closes
    python python.py --http PORT [--life SECONDS]       over HTTP on 127.0.0.1; 0 takes a free port
    python python.py --http PORT --stateless            the same without sessions

Its twin is typescript.mjs: both have the same tools with the same behaviour, as far as their SDKs let them.
"""

import argparse
import os
import socket
import sys
import threading

import anyio
import uvicorn
from mcp.server import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp_types import ToolAnnotations
from typing_extensions import TypedDict

server = MCPServer("bookshop-python", version="1.0.0", log_level="WARNING")


# Only `typed` promises a form for what it returns; without the `False` the SDK would promise one for each.
@server.tool(annotations=ToolAnnotations(read_only_hint=True, idempotent_hint=True), structured_output=False)
def get_author(title: str) -> str:
    """Who wrote a book"""
    if title != "Dune":
        raise ToolError(f"no book called {title}")
    return "Frank Herbert"


@server.tool(annotations=ToolAnnotations(read_only_hint=False, idempotent_hint=False), structured_output=False)
async def reserve(title: str, seconds: float, ledger: str) -> str:
    """Reserves a copy: one line in the ledger, then the answer, `seconds` later"""
    # Written first: who loses the answer can still count what was done.
    with open(ledger, "a", encoding="utf-8") as lines:
        lines.write(f"{title}\n")
    await anyio.sleep(seconds)
    return "reserved"


@server.tool(structured_output=False)
def crash() -> str:
    """Fails as a bug does"""
    raise RuntimeError("the shelf fell over")


@server.tool(structured_output=False)
def pid() -> str:
    """The process that answers"""
    return str(os.getpid())


class Stock(TypedDict):
    copies: int


@server.tool()
def typed() -> Stock:
    """Promises a number and returns a word"""
    return {"copies": "many"}  # type: ignore[typeddict-item]


def serve_http(port: int, life: float, stateless: bool) -> None:
    # A test that dies leaves no server behind.
    end = threading.Timer(life, os._exit, (0,))
    end.daemon = True
    end.start()
    # Made here and not by uvicorn, which would not tell a free port in a form to rely on.
    listening = socket.create_server(("127.0.0.1", port))
    print(f"http://127.0.0.1:{listening.getsockname()[1]}/mcp", file=sys.stderr, flush=True)
    app = server.streamable_http_app(stateless_http=stateless)
    uvicorn.Server(uvicorn.Config(app, log_level="warning")).run(sockets=[listening])


if __name__ == "__main__":
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--http", type=int)
    arguments.add_argument("--life", type=float, default=120)
    arguments.add_argument("--stateless", action="store_true")
    given = arguments.parse_args()
    if given.http is None:
        server.run("stdio")
    else:
        serve_http(given.http, given.life, given.stateless)
