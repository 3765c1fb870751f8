"""x402-avm's client pays for each request of the task, with httpx and with requests, and tells what it was answered."""

import asyncio
import base64
import json

from peer import answer, paying_client, task


def receipt_of(response):
    header = response.headers.get("payment-response")
    return json.loads(base64.b64decode(header)) if header else None


def told(response):
    body = response.json() if response.headers.get("content-type", "").startswith("application/json") else response.text
    return {"status": response.status_code, "body": body, "receipt": receipt_of(response)}


async def with_httpx(given):
    from x402.http.clients.httpx import x402HttpxClient

    async with x402HttpxClient(paying_client(given)) as client:
        return told(await client.request(given["method"], given["url"], json=given.get("body")))


def with_requests(given):
    from x402 import x402ClientSync
    from x402.http.clients.requests import x402_requests

    client = paying_client(given, x402ClientSync)
    return told(x402_requests(client).request(given["method"], given["url"], json=given.get("body")))


def attempt(given):
    try:
        return asyncio.run(with_httpx(given)) if given["library"] == "httpx" else with_requests(given)
    except Exception as error:
        return {"error": f"{type(error).__name__}: {error}"}


answer(attempt(task()))
