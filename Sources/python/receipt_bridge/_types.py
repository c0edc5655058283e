"""The types of results. Dates are milliseconds since 1970."""
from __future__ import annotations

from typing import Any, TypedDict


class Failure(TypedDict):
    """Why a value is refused."""
    code: str
    place: str
    reason: str


class Purchase(TypedDict, total=False):
    """A purchase with Apple's names. Those of a JWS have more members, and their own types of `webOrderLineItemId` and others."""
    quantity: int
    productId: str
    transactionId: str
    originalTransactionId: str
    purchaseDate: int
    originalPurchaseDate: int
    expiresDate: int
    cancellationDate: int
    cancellationReason: int
    revocationDate: int
    revocationReason: int
    webOrderLineItemId: str
    isTrialPeriod: bool
    isInIntroOfferPeriod: bool
    promotionalOfferId: str
    offerType: int
    offerIdentifier: str
    inAppOwnershipType: str
    type: str
    environment: str
    bundleId: str


class _Columns(TypedDict):
    digest: str | None
    outcome: str
    reason: str | None
    kind: str
    verified: bool
    repairs: list[str]
    environment: str | None
    bundleId: str | None
    originalTransactionIds: list[str]
    transactionIds: list[str]
    unverifiedIds: list[str]


class Decoded(_Columns):
    """A result of decode(). `receipt`, `purchases`, `payload` and `nested` have content only if it is authentic."""
    failure: Failure | None
    receipt: dict[str, Any] | None
    purchases: list[Purchase]
    payload: dict[str, Any] | None
    nested: dict[str, Any]


class Migrated(_Columns):
    """A result of migrate(), which has the columns of `keep` too."""
    id: str
