"""x402-avm's facilitator behind the few lines of REST that its documentation leaves to the reader, and a signer of algosdk's."""

import base64
import json

import uvicorn
from algosdk import encoding, transaction
from algosdk.v2client import algod
from algosdk.v2client.models import SimulateRequest, SimulateRequestTransactionGroup
from peer import Signer, answer, listening_socket, task
from starlette.applications import Starlette
from starlette.responses import JSONResponse
from starlette.routing import Route
from x402 import x402Facilitator
from x402.mechanisms.avm import ALGORAND_TESTNET_CAIP2
from x402.mechanisms.avm.exact import ExactAvmFacilitatorScheme
from x402.schemas import PaymentPayload, PaymentRequirements

given = task()


class Sponsor:
    def __init__(self, words, algod_url):
        self._signer = Signer(words)
        self._node = algod.AlgodClient("", algod_url)

    def get_addresses(self):
        return [self._signer.address]

    def sign_transaction(self, txn_bytes, fee_payer, network):
        return self._signer.sign_transactions([txn_bytes], [0])[0]

    def sign_group(self, group_bytes, fee_payer, indexes_to_sign, network):
        signed = self._signer.sign_transactions(group_bytes, indexes_to_sign)
        return [mine or theirs for mine, theirs in zip(signed, group_bytes)]

    def simulate_group(self, group_bytes, network):
        txns = [encoding.msgpack_decode(base64.b64encode(one).decode()) for one in group_bytes]
        request = SimulateRequest(txn_groups=[SimulateRequestTransactionGroup(txns=txns)])
        group = self._node.simulate_transactions(request)["txn-groups"][0]
        if group.get("failure-message"):
            raise ValueError(group["failure-message"])

    def send_group(self, group_bytes, network):
        return self._node.send_raw_transaction(base64.b64encode(b"".join(group_bytes)).decode())

    def confirm_transaction(self, txid, network, rounds=4):
        transaction.wait_for_confirmation(self._node, txid, rounds)


facilitator = x402Facilitator()
facilitator.register(
    [ALGORAND_TESTNET_CAIP2], ExactAvmFacilitatorScheme(signer=Sponsor(given["mnemonic"], given["algodUrl"]))
)


def shown(model):
    return JSONResponse(json.loads(model.model_dump_json(by_alias=True, exclude_none=True)))


async def supported(request):
    return shown(facilitator.get_supported())


def asking(act):
    async def handle(request):
        body = await request.json()
        payload = PaymentPayload.model_validate(body["paymentPayload"])
        requirements = PaymentRequirements.model_validate(body["paymentRequirements"])
        return shown(await act(payload, requirements))

    return handle


app = Starlette(
    routes=[
        Route("/supported", supported),
        Route("/verify", asking(facilitator.verify), methods=["POST"]),
        Route("/settle", asking(facilitator.settle), methods=["POST"]),
    ]
)
bound, url = listening_socket()
answer({"url": url, "sponsor": Signer(given["mnemonic"]).address})
uvicorn.Server(uvicorn.Config(app, log_level="warning")).run(sockets=[bound])
