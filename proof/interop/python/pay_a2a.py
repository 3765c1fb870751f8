"""
The Python A2A SDK, 0.3 or 1.x, reads the card and sends one message: with a plain HTTP client, which cannot pay, and with
x402-avm's, which pays what a 402 asks for.
"""

import asyncio
import json
from importlib.metadata import version

import httpx
from peer import answer, paying_client, task

given = task()
IS_LEGACY = version("a2a-sdk").startswith("0.")


def message():
    if IS_LEGACY:
        from a2a.types import DataPart, Message, Part, Role

        return Message(
            message_id="m1",
            role=Role.user,
            parts=[Part(root=DataPart(data=given["input"]))],
            metadata={"skillId": given["skill"]},
        )
    from a2a.types import SendMessageRequest
    from google.protobuf.json_format import ParseDict

    parts = [{"data": given["input"]}]
    sent = {"messageId": "m1", "role": "ROLE_USER", "parts": parts, "metadata": {"skillId": given["skill"]}}
    return ParseDict({"message": sent}, SendMessageRequest())


async def send(http):
    if IS_LEGACY:
        from a2a.client import ClientConfig, ClientFactory

        client = await ClientFactory.connect(given["url"], ClientConfig(httpx_client=http, streaming=False))
        async for event in client.send_message(message()):
            task_now = event[0] if isinstance(event, tuple) else event
            return task_now.model_dump(by_alias=True, mode="json", exclude_none=True)
    from a2a.client import ClientConfig, create_client
    from google.protobuf.json_format import MessageToDict

    client = await create_client(given["url"], ClientConfig(httpx_client=http, streaming=False))
    async for event in client.send_message(message()):
        return MessageToDict(event)["task"]


async def attempt(http):
    try:
        return {"task": await send(http)}
    except Exception as error:
        return {"error": f"{type(error).__name__}: {error}"}
    finally:
        await http.aclose()


async def both():
    from x402.http.clients.httpx import x402HttpxClient

    plain = await attempt(httpx.AsyncClient())
    paying = await attempt(x402HttpxClient(paying_client(given)))
    return {"sdk": version("a2a-sdk"), "plain": plain, "paying": paying}


answer(json.loads(json.dumps(asyncio.run(both()))))
