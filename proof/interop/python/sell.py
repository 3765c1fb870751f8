"""A server of x402-avm's, with FastAPI or Flask: POST /echo and GET /square for a cent each, and POST /broken, which fails."""

from peer import answer, listening_socket, task

given = task()
PRICED = {
    "scheme": "exact",
    "network": given["network"],
    "payTo": given["payTo"],
    "price": "$0.01",
    "maxTimeoutSeconds": 60,
}
ROUTES = {route: {"accepts": PRICED} for route in ["POST /echo", "GET /square", "POST /broken"]}


def sell_with_fastapi():
    import uvicorn
    from fastapi import FastAPI, HTTPException, Request
    from x402 import x402ResourceServer
    from x402.http import HTTPFacilitatorClient
    from x402.http import FacilitatorConfig
    from x402.http.middleware.fastapi import payment_middleware
    from x402.mechanisms.avm.exact import ExactAvmServerScheme

    server = x402ResourceServer(HTTPFacilitatorClient(FacilitatorConfig(url=given["facilitatorUrl"])))
    server.register(given["network"], ExactAvmServerScheme())
    middleware = payment_middleware(ROUTES, server)
    app = FastAPI()

    @app.middleware("http")
    async def payments(request, call_next):
        return await middleware(request, call_next)

    @app.post("/echo")
    async def echo(request: Request):
        return {"echo": await request.json()}

    @app.get("/square")
    async def square(n: int):
        return {"square": n * n}

    @app.post("/broken")
    async def broken():
        raise HTTPException(500, "no model today")

    bound, url = listening_socket()
    answer({"url": url})
    uvicorn.Server(uvicorn.Config(app, log_level="warning")).run(sockets=[bound])


def sell_with_flask():
    from flask import Flask, jsonify, request
    from werkzeug.serving import make_server
    from x402 import x402ResourceServerSync
    from x402.http import HTTPFacilitatorClientSync
    from x402.http import FacilitatorConfig
    from x402.http.middleware.flask import payment_middleware
    from x402.mechanisms.avm.exact import ExactAvmServerScheme

    server = x402ResourceServerSync(HTTPFacilitatorClientSync(FacilitatorConfig(url=given["facilitatorUrl"])))
    server.register(given["network"], ExactAvmServerScheme())
    app = Flask("seller")
    payment_middleware(app, ROUTES, server)

    @app.post("/echo")
    def echo():
        return jsonify({"echo": request.get_json()})

    @app.get("/square")
    def square():
        return jsonify({"square": int(request.args["n"]) ** 2})

    @app.post("/broken")
    def broken():
        return jsonify({"detail": "no model today"}), 500

    bound, url = listening_socket()
    listening = make_server("127.0.0.1", 0, app, threaded=True, fd=bound.fileno())
    answer({"url": url})
    listening.serve_forever()


sell_with_fastapi() if given["framework"] == "fastapi" else sell_with_flask()
