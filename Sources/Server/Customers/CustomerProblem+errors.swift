import ReceiptBridgeCore
import ReceiptBridgeComparison

extension CustomerProblem {
    /// Explains why an operation has no result.
    init(_ error: OperationError) {
        func texts(_ title: String, _ sentences: String...) -> (String, [String]) { (title, sentences) }
        let (title, sentences) =
            switch error.code {
            case .transactionNotFound:
                texts(
                    "Not found", "The App Store does not know this, or it belongs to another app.",
                    "An order id is on the invoice that Apple sent by mail. Orders exist in production only.")
            case .accountNotFound:
                texts(
                    "The account no longer exists",
                    "The customer has deleted the App Store account of this purchase.")
            case .notAuthentic:
                texts(
                    "Not authentic",
                    "The App Store did not sign this text, or it was changed. Do not grant anything because of it.")
            case .notVerifiable:
                texts(
                    "It cannot be verified now",
                    "The server cannot decide whether this text is genuine. Try again later.")
            case .unexpectedType:
                texts(
                    "It cannot be read",
                    "The App Store signed this text, but a date or an identifier in it has a form that this version "
                        + "does not know.")
            case .notAReceipt, .notASignedTransaction, .malformedRequest, .malformedTransactionId, .malformedOrderId,
                .malformedAccountToken, .notificationNotFound, .deadlinePassed, .consentMissing, .invalidInput,
                .rejected:
                texts(
                    "The text was not recognized",
                    "Check that the whole text was copied, from its first to its last character.")
            case .storeNotConfigured:
                texts(
                    "Account tokens cannot be looked up",
                    "Only a store knows which customer has a token, and this server has none.")
            case .storeUnavailable: texts("The store cannot be read now", "Try again in a minute.")
            case .bundleIdRequired: texts("Which app?", "Choose the app that the customer uses.")
            case .unknownApp: texts("Another app", "It belongs to an app that this server does not know.")
            case .serverAPINotConfigured:
                texts(
                    "The server cannot ask the App Store",
                    "The app has no key of the App Store Server API in the configuration.")
            case .sandboxDenied:
                texts("A purchase of the sandbox", "The configuration of the app denies sandbox purchases.")
            case .upstreamFailed, .upstreamUnavailable:
                texts(
                    "The App Store has no answer now",
                    "This says nothing about the customer. Try again in a minute.")
            case .budgetSpent:
                texts(
                    "Too many lookups in this hour",
                    "The App Store limits lookups, and what is left is for customers in the app.",
                    "Try again" + (error.retryAfter.map { " in about \(max($0 / 60, 1)) minutes." } ?? " later."))
            }
        self.init(title: title, sentences: sentences, code: error.code.rawValue)
    }

    /// The text is neither an id nor a receipt nor a signed text.
    static let unrecognized = CustomerProblem(
        title: "The text was not recognized",
        sentences: [
            "Enter a transaction id (digits), an order id (letters and digits), an account token (a UUID), or the "
                + "whole text of a receipt or a signed transaction."
        ], code: "malformedRequest")

    /// The page was loaded before the server restarted.
    static let oldForm = CustomerProblem(
        title: "Please send it again",
        sentences: ["The server was restarted since this page was loaded. Nothing was looked up."], code: "formToken")

    /// No stored customer has the account token.
    static let unknownToken = CustomerProblem(
        title: "Not found", sentences: ["No customer in the store of this server has this account token."],
        code: "transactionNotFound")
}
