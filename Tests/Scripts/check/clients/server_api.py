#!/usr/bin/env python3
"""Runs Apple's App Store Server Library as a client of the simulated App Store.

    server_api.py --simulator http://127.0.0.1:8090 --state STATE

The library is unchanged except for the host and the trusted root. Prints one line per check. The exit code is 1 if a check fails.
The state directory is written by `receipt-bridge simulate --state STATE --customers 200`. With the default of 20 customers three
checks fail, because no customer has the required data (a second product, a grace period or a revoked subscription, a prorated
refund).
"""

import argparse
import glob
import json
import sys
import time
import traceback
import uuid
import warnings

from appstoreserverlibrary.api_client import APIException, AppStoreServerAPIClient, GetTransactionHistoryVersion
from appstoreserverlibrary.models.AccountTenure import AccountTenure
from appstoreserverlibrary.models.ConsumptionRequest import ConsumptionRequest
from appstoreserverlibrary.models.ConsumptionRequestV1 import ConsumptionRequestV1
from appstoreserverlibrary.models.ConsumptionStatus import ConsumptionStatus
from appstoreserverlibrary.models.DeliveryStatus import DeliveryStatus
from appstoreserverlibrary.models.DeliveryStatusV1 import DeliveryStatusV1
from appstoreserverlibrary.models.Environment import Environment
from appstoreserverlibrary.models.ExtendReasonCode import ExtendReasonCode
from appstoreserverlibrary.models.ExtendRenewalDateRequest import ExtendRenewalDateRequest
from appstoreserverlibrary.models.InAppOwnershipType import InAppOwnershipType
from appstoreserverlibrary.models.LifetimeDollarsPurchased import LifetimeDollarsPurchased
from appstoreserverlibrary.models.LifetimeDollarsRefunded import LifetimeDollarsRefunded
from appstoreserverlibrary.models.MassExtendRenewalDateRequest import MassExtendRenewalDateRequest
from appstoreserverlibrary.models.NotificationHistoryRequest import NotificationHistoryRequest
from appstoreserverlibrary.models.NotificationTypeV2 import NotificationTypeV2
from appstoreserverlibrary.models.OrderLookupStatus import OrderLookupStatus
from appstoreserverlibrary.models.Platform import Platform
from appstoreserverlibrary.models.PlayTime import PlayTime
from appstoreserverlibrary.models.Status import Status
from appstoreserverlibrary.models.TransactionHistoryRequest import Order, ProductType, TransactionHistoryRequest
from appstoreserverlibrary.models.UpdateAppAccountTokenRequest import UpdateAppAccountTokenRequest
from appstoreserverlibrary.models.UserStatus import UserStatus
from appstoreserverlibrary.receipt_utility import ReceiptUtility
from appstoreserverlibrary.signed_data_verifier import SignedDataVerifier, VerificationException

BUNDLE_ID = "com.example.app"
APP_APPLE_ID = 1234567890
ENVIRONMENTS = {"Production": Environment.PRODUCTION, "Sandbox": Environment.SANDBOX}
CHECKS = []


def check(function):
    CHECKS.append(function)
    return function


def expect(condition, message):
    if not condition:
        raise AssertionError(message)


def refused(call, code, status=None):
    """Checks that the call fails with the given error code."""
    try:
        call()
    except APIException as error:
        expect(error.raw_api_error == code, f"{error.raw_api_error} instead of {code}")
        expect(error.http_status_code == (status or code // 10000), f"HTTP {error.http_status_code} for {code}")
        return
    raise AssertionError(f"no error instead of {code}")


def read(path):
    with open(path, "rb") as file:
        return file.read()


class World:
    def __init__(self, options):
        self.simulator = options.simulator.rstrip("/")
        self.state = options.state
        yaml = read(f"{self.state}/receipt-bridge.yaml").decode()
        setting = lambda name: next(line.split()[-1] for line in yaml.splitlines() if f" {name}: " in line)
        self.issuer, self.key_id = setting("issuerId"), setting("keyId")
        self.key = read(glob.glob(f"{self.state}/SubscriptionKey_*.p8")[0])
        self.customers = json.loads(read(f"{self.state}/world.json"))["customers"]
        self.receipts = [json.loads(line) for line in read(f"{self.state}/receipts.jsonl").splitlines()]
        self.clients = {name: self.client(name) for name in ENVIRONMENTS}
        self.verifiers = {name: self.verifier(name) for name in ENVIRONMENTS}

    def client(self, name, key=None, key_id=None, issuer=None, bundle_id=BUNDLE_ID):
        client = AppStoreServerAPIClient(
            key or self.key, key_id or self.key_id, issuer or self.issuer, bundle_id, ENVIRONMENTS[name]
        )
        client._base_url = f"{self.simulator}/{name.lower()}"
        return client

    def verifier(self, name, root="SimulatorRootEC.cer"):
        roots = [read(f"{self.state}/roots/{root}")]
        return SignedDataVerifier(roots, False, ENVIRONMENTS[name], BUNDLE_ID, APP_APPLE_ID)

    def having(self, environment, condition):
        """Yields each customer that has a transaction with the given condition, with the first such transaction."""
        for customer in self.customers:
            if customer["environment"] != environment:
                continue
            for transaction in customer["transactions"]:
                if condition(transaction):
                    yield customer, transaction
                    break

    def history(self, environment, identifier, version=GetTransactionHistoryVersion.V2, **query):
        """Returns the rows of all pages, verified and decoded, and the number of pages."""
        request, rows, pages, revision = TransactionHistoryRequest(**query), [], 0, None
        while True:
            page = self.clients[environment].get_transaction_history(identifier, revision, request, version)
            pages += 1
            expect(len(page.signedTransactions) <= 20, "more than 20 on a page")
            expect(page.bundleId == BUNDLE_ID and page.environment == ENVIRONMENTS[environment], "the envelope")
            expect((page.appAppleId == APP_APPLE_ID) == (environment == "Production"), "appAppleId")
            rows += [self.verifiers[environment].verify_and_decode_signed_transaction(row)
                     for row in page.signedTransactions]
            if not page.hasMore:
                return rows, pages
            expect(page.revision != revision, "the revision did not change")
            revision = page.revision


def digits36(number):
    digits = ""
    while number:
        number, rest = divmod(number, 36)
        digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"[rest] + digits
    return digits


# --- Reading -----------------------------------------------------------------------------------------------------


@check
def receipts_give_ids_that_are_known(world):
    """ReceiptUtility finds an id in every receipt with purchases, and the Server API returns its history."""
    utility, found = ReceiptUtility(), 0
    for line in world.receipts[:60]:
        if line["style"] == "appReceipt":
            identifier = utility.extract_transaction_id_from_app_receipt(line["receipt"])
        else:
            identifier = utility.extract_transaction_id_from_transaction_receipt(line["receipt"])
        expect((identifier is None) == (not line["originalTransactionIds"]), f"{line['id']}: {identifier}")
        if identifier is None:
            continue
        found += 1
        rows, _ = world.history(line["environment"], identifier)
        expect(set(line["originalTransactionIds"]) <= {row.originalTransactionId for row in rows}, line["id"])
        other = "Sandbox" if line["environment"] == "Production" else "Production"
        refused(lambda: world.clients[other].get_transaction_info(identifier), 4040010)
    expect(found > 10, "too few receipts")


@check
def transaction_info(world):
    """The signature verifies as Apple's does, and the values are those of world.json."""
    for environment, verifier in world.verifiers.items():
        for customer, transaction in list(world.having(environment, lambda row: True))[:10]:
            signed = world.clients[environment].get_transaction_info(transaction["transactionId"])
            row = verifier.verify_and_decode_signed_transaction(signed.signedTransactionInfo)
            for name, value in transaction.items():
                if name == "signedDate":
                    continue
                got = getattr(row, name)
                expect(getattr(got, "value", got) == value, f"{customer['id']} {name}: {got} is not {value}")
            expect(row.signedDate >= transaction["signedDate"], "signedDate")
    refused(lambda: world.clients["Production"].get_transaction_info("0"), 4000006)
    refused(lambda: world.clients["Production"].get_transaction_info("%2E%2E"), 4000006)
    refused(lambda: world.clients["Production"].get_transaction_info("9" * 30), 4000006)
    refused(lambda: world.clients["Production"].get_transaction_info("123456789012345"), 4040010)


@check
def foreign_roots_are_refused(world):
    """A JWS does not verify with the RSA root."""
    _, transaction = next(world.having("Production", lambda row: True))
    signed = world.clients["Production"].get_transaction_info(transaction["transactionId"]).signedTransactionInfo
    try:
        world.verifier("Production", "SimulatorRoot.cer").verify_and_decode_signed_transaction(signed)
    except VerificationException:
        return
    raise AssertionError("accepted")


@check
def whole_histories(world):
    """The history of every customer, page by page, equals world.json, for each id of the customer."""
    longest = 0
    for customer in world.customers:
        expected = {row["transactionId"] for row in customer["transactions"]}
        for identifier in {row[name] for row in customer["transactions"][-1:]
                           for name in ("transactionId", "originalTransactionId", "appTransactionId")}:
            rows, pages = world.history(customer["environment"], identifier)
            expect({row.transactionId for row in rows} == expected, f"{customer['id']} by {identifier}")
            expect(len(rows) == len(expected), "rows twice")
            longest = max(longest, pages)
    expect(longest >= 6, "no long history")


@check
def history_filters(world):
    """Tests each query parameter, and version 1 of the history."""
    customer, _ = next(world.having("Production", lambda row: row["productId"].endswith("news.monthly")))
    identifier = customer["transactions"][0]["transactionId"]
    ask = lambda **query: world.history("Production", identifier, **query)[0]
    everything = ask()
    expect([row.transactionId for row in ask(sort=Order.DESCENDING)]
           == [row.transactionId for row in reversed(everything)], "descending")
    middle = sorted(row.purchaseDate for row in everything)[len(everything) // 2]
    expect(all(row.purchaseDate >= middle for row in ask(startDate=middle)), "startDate")
    expect(len(ask(startDate=middle)) + len(ask(endDate=middle)) == len(everything), "startDate and endDate")
    news = "com.example.app.news.monthly"
    expect({row.productId for row in ask(productIds=[news])} == {news}, "productId")
    expect({row.type.value for row in ask(productTypes=[ProductType.CONSUMABLE, ProductType.NON_RENEWABLE])}
           == {"Consumable", "Non-Renewing Subscription"}, "productType")
    expect({row.productId for row in ask(subscriptionGroupIdentifiers=["20500002"])} == {news}, "group")
    expect({row.inAppOwnershipType for row in ask(inAppOwnershipType=InAppOwnershipType.FAMILY_SHARED)}
           == {InAppOwnershipType.FAMILY_SHARED}, "inAppOwnershipType")
    expect(ask(revoked=True) == [] and len(ask(revoked=False)) == len(everything), "revoked")
    coins, finished = next(
        (customer, row) for customer, row in world.having("Production", lambda row: row["type"] == "Consumable")
        if len(customer["transactions"]) == 2 and "revocationDate" not in row)
    old, _ = world.history("Production", finished["transactionId"], GetTransactionHistoryVersion.V1)
    expect(len(old) < len(coins["transactions"]), "version 1 lists finished consumables")
    refused(lambda: ask(startDate=2, endDate=1), 4000013)
    refused(lambda: world.clients["Production"].get_transaction_history(
        identifier, "nonsense", TransactionHistoryRequest(), GetTransactionHistoryVersion.V2), 4000005)


@check
def subscription_statuses(world):
    """Each subscription is returned once, with its state in world.json; the filter accepts several values."""
    seen = set()
    for customer in world.customers:
        if not customer["transactions"]:
            continue
        client, verifier = world.clients[customer["environment"]], world.verifiers[customer["environment"]]
        identifier = customer["transactions"][0]["transactionId"]
        response = client.get_all_subscription_statuses(identifier)
        items = [item for group in response.data for item in group.lastTransactions]
        expect(sorted(item.originalTransactionId for item in items)
               == sorted(row["originalTransactionId"] for row in customer["renewals"]), customer["id"])
        active = set()
        for item in items:
            row = verifier.verify_and_decode_signed_transaction(item.signedTransactionInfo)
            renewal = verifier.verify_and_decode_renewal_info(item.signedRenewalInfo)
            expected = next(
                one for one in customer["renewals"] if one["originalTransactionId"] == item.originalTransactionId)
            for name, value in expected.items():
                got = getattr(renewal, name)
                expect(name == "signedDate" or getattr(got, "value", got) == value, f"{customer['id']} {name}")
            expect(row.originalTransactionId == item.originalTransactionId, "another subscription's transaction")
            seen.add(item.status)
            if item.status in (Status.ACTIVE, Status.BILLING_GRACE_PERIOD):
                active.add(renewal.productId)
        expect(sorted(active) == customer["expected"]["activeProductIds"], f"{customer['id']}: {active}")
        some = client.get_all_subscription_statuses(identifier, [Status.EXPIRED, Status.REVOKED])
        expect(all(item.status in (Status.EXPIRED, Status.REVOKED)
                   for group in some.data for item in group.lastTransactions), "the filter")
    expect(seen == set(Status), f"only {seen}")


@check
def app_transactions(world):
    for environment, verifier in world.verifiers.items():
        for _, transaction in list(world.having(environment, lambda row: True))[:5]:
            response = world.clients[environment].get_app_transaction_info(transaction["transactionId"])
            app = verifier.verify_and_decode_app_transaction(response.signedAppTransactionInfo)
            expect(app.appTransactionId == transaction["appTransactionId"], "appTransactionId")
            expect(app.originalPurchaseDate < transaction["purchaseDate"], "originalPurchaseDate")


@check
def refunds(world):
    for environment, verifier in world.verifiers.items():
        kinds = set()
        for customer, _ in world.having(environment, lambda row: "revocationDate" in row):
            identifier = customer["transactions"][-1]["transactionId"]
            response = world.clients[environment].get_refund_history(identifier, None)
            rows = [verifier.verify_and_decode_signed_transaction(row) for row in response.signedTransactions]
            dates = [row.revocationDate for row in rows]
            expect(dates == sorted(dates) and None not in dates, "order")
            expected = {row["transactionId"] for row in customer["transactions"]
                        if row.get("revocationType", "FAMILY_REVOKE") != "FAMILY_REVOKE"}
            expect({row.transactionId for row in rows} == expected, customer["id"])
            again = world.clients[environment].get_refund_history(identifier, response.revision)
            expect(again.signedTransactions == [] and not again.hasMore, "refunds after the last revision")
            kinds |= {row.revocationType.value for row in rows}
        expect(kinds == {"REFUND_FULL", "REFUND_PRORATED"}, f"only {kinds}")


@check
def orders(world):
    _, transaction = next(world.having("Production", lambda row: True))
    order = "M" + digits36(int(transaction["transactionId"]))
    response = world.clients["Production"].look_up_order_id(order)
    expect(response.status == OrderLookupStatus.VALID and len(response.signedTransactions) == 1, "a known order")
    unknown = world.clients["Production"].look_up_order_id("MUNKNOWN1")
    expect(unknown.status == OrderLookupStatus.INVALID and not unknown.signedTransactions, "an unknown order")
    refused(lambda: world.clients["Sandbox"].look_up_order_id(order), 4000000)


# --- Notifications -----------------------------------------------------------------------------------------------


@check
def test_notifications(world):
    for environment, verifier in world.verifiers.items():
        token = world.clients[environment].request_test_notification().testNotificationToken
        response = world.clients[environment].get_test_notification_status(token)
        payload = verifier.verify_and_decode_notification(response.signedPayload)
        expect(payload.notificationType == NotificationTypeV2.TEST, "the type")
        expect(response.sendAttempts[0].sendAttemptResult.value == "SUCCESS", "the attempt")
    refused(lambda: world.clients["Production"].get_test_notification_status("a_1"), 4040008)


@check
def notification_history(world):
    now = int(time.time() * 1000)
    request = NotificationHistoryRequest(startDate=now - 170 * 86400000, endDate=now)
    client, verifier = world.clients["Production"], world.verifiers["Production"]
    token, uuids, pages = None, [], 0
    while pages < 4:
        page = client.get_notification_history(token, request)
        pages += 1
        expect(len(page.notificationHistory) <= 20, "more than 20")
        for item in page.notificationHistory:
            payload = verifier.verify_and_decode_notification(item.signedPayload)
            verifier.verify_and_decode_signed_transaction(payload.data.signedTransactionInfo)
            uuids.append(payload.notificationUUID)
        expect(page.hasMore == (page.paginationToken is not None), "paginationToken")
        token = page.paginationToken
        if not page.hasMore:
            break
    expect(len(uuids) > 20 and len(set(uuids)) == len(uuids), "the same one twice")
    _, transaction = next(world.having("Production", lambda row: "revocationDate" in row))
    one = NotificationHistoryRequest(
        startDate=request.startDate, endDate=now, transactionId=transaction["transactionId"])
    expect(client.get_notification_history(None, one).notificationHistory, "no notification of one customer")
    both = NotificationHistoryRequest(
        startDate=request.startDate, endDate=now, transactionId="1", notificationType=NotificationTypeV2.REFUND)
    refused(lambda: client.get_notification_history(None, both), 4000019)
    early = NotificationHistoryRequest(startDate=now - 200 * 86400000, endDate=now)
    refused(lambda: client.get_notification_history(None, early), 4000012)
    refused(lambda: client.get_notification_history("x", request), 4000014)


# --- Changes; they must run last ---------------------------------------------------------------------------------


def extension(days=7):
    return ExtendRenewalDateRequest(days, ExtendReasonCode.SERVICE_ISSUE_OR_OUTAGE, str(uuid.uuid4()))


def renewing(world, environment, status):
    """Yields the original transaction id and the transaction of each subscription in the given state."""
    for customer in world.customers:
        if customer["environment"] != environment or not customer["renewals"]:
            continue
        identifier = customer["renewals"][0]["originalTransactionId"]
        response = world.clients[environment].get_all_subscription_statuses(identifier, [status])
        for item in (item for group in response.data for item in group.lastTransactions):
            row = world.verifiers[environment].verify_and_decode_signed_transaction(item.signedTransactionInfo)
            yield item.originalTransactionId, row


@check
def extensions(world):
    client = world.clients["Sandbox"]
    identifier, row = next(
        (one, row) for one, row in renewing(world, "Sandbox", Status.ACTIVE)
        if row.price > 0 and row.inAppOwnershipType == InAppOwnershipType.PURCHASED)
    response = client.extend_subscription_renewal_date(identifier, extension(7))
    expect(response.success and response.effectiveDate == row.expiresDate + 7 * 86400000, "the date")
    client.extend_subscription_renewal_date(identifier, extension(1))
    refused(lambda: client.extend_subscription_renewal_date(identifier, extension(1)), 4030005)
    refused(lambda: client.extend_subscription_renewal_date(identifier, extension(91)), 4000009)
    expired, _ = next(renewing(world, "Sandbox", Status.EXPIRED))
    refused(lambda: client.extend_subscription_renewal_date(expired, extension()), 4030004)
    family = next(world.having("Production", lambda row: row["inAppOwnershipType"] == "FAMILY_SHARED"))[1]
    refused(lambda: world.clients["Production"].extend_subscription_renewal_date(
        family["originalTransactionId"], extension()), 4030007)
    refused(lambda: client.extend_subscription_renewal_date("0", extension()), 4000008)
    refused(lambda: client.extend_subscription_renewal_date("123", extension()), 4040005)


@check
def mass_extensions(world):
    client, name = world.clients["Sandbox"], str(uuid.uuid4())
    product = "com.example.app.yearly"
    request = MassExtendRenewalDateRequest(3, ExtendReasonCode.OTHER, name, ["USA"], product)
    for _ in range(2):
        response = client.extend_renewal_date_for_all_active_subscribers(request)
        expect(response.requestIdentifier == name, "the identifier")
    status = client.get_status_of_subscription_renewal_date_extensions(name, product)
    expect(status.complete and status.succeededCount > 0 and status.completeDate, "the status")
    refused(lambda: client.get_status_of_subscription_renewal_date_extensions(str(uuid.uuid4()), product), 4040009)
    empty = MassExtendRenewalDateRequest(3, ExtendReasonCode.OTHER, name, [], product)
    refused(lambda: client.extend_renewal_date_for_all_active_subscribers(empty), 4000027)


@check
def consumption(world):
    client = world.clients["Production"]
    _, coins = next(world.having("Production", lambda row: row["type"] == "Consumable"))
    _, month = next(world.having("Production", lambda row: row["type"].startswith("Auto")))
    good = dict(customerConsented=True, sampleContentProvided=False, deliveryStatus=DeliveryStatus.DELIVERED)
    send = lambda row, **more: client.send_consumption_information(
        row["transactionId"], ConsumptionRequest(**{**good, **more}))
    send(coins, consumptionPercentage=40000)
    send(month)
    refused(lambda: send(month, consumptionPercentage=40000), 4000209)
    refused(lambda: send(coins, customerConsented=False), 4000035)
    refused(lambda: client.send_consumption_information(coins["appTransactionId"], ConsumptionRequest(**good)), 4000048)
    first = ConsumptionRequestV1(
        customerConsented=True, consumptionStatus=ConsumptionStatus.FULLY_CONSUMED, platform=Platform.APPLE,
        sampleContentProvided=False, deliveryStatus=DeliveryStatusV1.DELIVERED_AND_WORKING_PROPERLY,
        appAccountToken="", accountTenure=AccountTenure.THIRTY_DAYS_TO_NINETY_DAYS,
        playTime=PlayTime.ONE_DAY_TO_FOUR_DAYS, lifetimeDollarsRefunded=LifetimeDollarsRefunded.ZERO_DOLLARS,
        lifetimeDollarsPurchased=LifetimeDollarsPurchased.ZERO_DOLLARS, userStatus=UserStatus.ACTIVE)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        client.send_consumption_data(coins["transactionId"], first)
        first.customerConsented = False
        refused(lambda: client.send_consumption_data(coins["transactionId"], first), 4000035)


@check
def account_tokens(world):
    client, token = world.clients["Production"], str(uuid.uuid4())
    customer, row = next(world.having(
        "Production", lambda row: row["transactionReason"] == "RENEWAL" and row["inAppOwnershipType"] == "PURCHASED"))
    client.set_app_account_token(row["originalTransactionId"], UpdateAppAccountTokenRequest(token.upper()))
    rows, _ = world.history("Production", row["transactionId"])
    tokens = {one.appAccountToken for one in rows if one.originalTransactionId == row["originalTransactionId"]}
    expect(tokens == {token}, f"{tokens} instead of {token}")
    set_token = lambda identifier, value=token: client.set_app_account_token(
        identifier, UpdateAppAccountTokenRequest(value))
    refused(lambda: set_token(row["transactionId"]), 4000187)
    refused(lambda: set_token(row["originalTransactionId"], "nonsense"), 4000183)
    refused(lambda: set_token("123"), 4040005)


@check
def finishing(world):
    client = world.clients["Sandbox"]
    customer, _ = next(world.having("Sandbox", lambda row: row["type"] == "Consumable" and row["quantity"] == 2))
    newest = customer["transactions"][-1]["transactionId"]
    version = GetTransactionHistoryVersion.V1
    before, _ = world.history("Sandbox", newest, version)
    client.finish_transaction(newest)
    after, _ = world.history("Sandbox", newest, version)
    expect(len(after) == len(before) - 1, "a finished consumable is in version 1")
    refused(lambda: client.finish_transaction("123"), 4040010)


@check
def strangers(world):
    """Another key, key id, issuer or app gets 401 without a JSON body."""
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    other = ec.generate_private_key(ec.SECP256R1()).private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    _, transaction = next(world.having("Production", lambda row: True))
    for wrong in (dict(key=other), dict(key_id="OTHER00001"), dict(issuer=str(uuid.uuid4())),
                  dict(bundle_id="com.example.other")):
        client = world.client("Production", **wrong)
        try:
            client.get_transaction_info(transaction["transactionId"])
        except APIException as error:
            expect(error.http_status_code == 401 and error.raw_api_error is None, f"{wrong}: {error}")
        else:
            raise AssertionError(f"{wrong} accepted")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--simulator", required=True)
    parser.add_argument("--state", required=True)
    world, failures = World(parser.parse_args()), 0
    for function in CHECKS:
        start = time.monotonic()
        try:
            function(world)
            print(f"ok    {function.__name__} ({time.monotonic() - start:.1f} s)")
        except Exception:
            failures += 1
            print(f"FAIL  {function.__name__}\n{traceback.format_exc()}")
    print(f"{len(CHECKS) - failures} of {len(CHECKS)} checks passed")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
