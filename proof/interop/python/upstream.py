"""A FastAPI app that knows nothing of payments: an item, an echo of what reached it, a failure, and OpenAI's chat completions."""

import asyncio
import json

from peer import answer, listening_socket, task

task()


def app():
    from fastapi import FastAPI, HTTPException, Request
    from fastapi.responses import StreamingResponse
    from pydantic import BaseModel

    made = FastAPI()

    @made.get("/health")
    async def health():
        return {"ok": True}

    @made.get("/reports/{report}")
    async def report(report: str, request: Request):
        return {"report": report, "query": str(request.url.query), "payer": request.headers.get("x-svc-payer")}

    @made.post("/v1/broken")
    async def broken():
        raise HTTPException(500, "no model today")

    class Chat(BaseModel):
        model: str
        messages: list[dict]
        stream: bool = False

    def chunk(chat, delta, finish=None):
        choice = {"index": 0, "delta": delta, "finish_reason": finish}
        said = {"id": "chat-1", "object": "chat.completion.chunk", "created": 1, "model": chat.model, "choices": [choice]}
        return f"data: {json.dumps(said)}\n\n"

    async def words(chat):
        for word in ["Whales ", "are ", "large."]:
            yield chunk(chat, {"role": "assistant", "content": word})
            await asyncio.sleep(0)
        yield chunk(chat, {}, "stop")
        yield "data: [DONE]\n\n"

    @made.post("/v1/chat/completions")
    async def completions(chat: Chat):
        if chat.stream:
            return StreamingResponse(words(chat), media_type="text/event-stream")
        message = {"role": "assistant", "content": "Whales are large."}
        choice = {"index": 0, "message": message, "finish_reason": "stop"}
        return {"id": "chat-1", "object": "chat.completion", "created": 1, "model": chat.model, "choices": [choice]}

    return made


def serve():
    import uvicorn

    bound, url = listening_socket()
    answer({"url": url})
    uvicorn.Server(uvicorn.Config(app(), log_level="warning")).run(sockets=[bound])


serve()
