"""The Python MCP SDK lists the tools, calls one unpaid, and calls it again with a payment that x402-avm's client signed."""

import asyncio
import json
from importlib.metadata import version

from peer import answer, paying_client, task


async def run(given, call, list_tools):
    tools = (await list_tools()).tools
    unpaid = await call(given["tool"], given["arguments"])
    challenge = json.loads(unpaid.content[0].text)
    payment = await payment_for(given, challenge)
    paid = await call(given["tool"], given["arguments"], meta={"x402/payment": payment})
    again = await call(given["tool"], given["arguments"], meta={"x402/payment": payment})
    return {
        "tools": [tool.name for tool in tools],
        "unpaid": shown(unpaid),
        "paid": shown(paid),
        "again": shown(again),
    }


async def payment_for(given, challenge):
    from x402.schemas import PaymentRequired

    client = paying_client(given)
    payload = await client.create_payment_payload(PaymentRequired.model_validate(challenge))
    return json.loads(payload.model_dump_json(by_alias=True, exclude_none=True))


def shown(result):
    told = result.model_dump(by_alias=True, mode="json", exclude_none=True)
    return {
        "isError": told.get("isError", False),
        "structured": told.get("structuredContent"),
        "text": told["content"][0]["text"],
        "receipt": (told.get("_meta") or {}).get("x402/payment-response"),
    }


async def with_sdk_2(given):
    from mcp.client.client import Client

    async with Client(given["url"], mode=given["mode"]) as client:
        async def call(name, arguments, meta=None):
            return await client.call_tool(name, arguments, meta=meta)

        return await run(given, call, client.list_tools)


async def with_sdk_1(given):
    from mcp import ClientSession
    from mcp.client.streamable_http import streamable_http_client

    async with streamable_http_client(given["url"]) as (read, write, _):
        async with ClientSession(read, write) as session:
            await session.initialize()

            async def call(name, arguments, meta=None):
                return await session.call_tool(name, arguments, meta=meta)

            return await run(given, call, session.list_tools)


given = task()
sdk = with_sdk_1 if version("mcp").startswith("1.") else with_sdk_2
answer({"sdk": version("mcp"), **asyncio.run(sdk(given))})
