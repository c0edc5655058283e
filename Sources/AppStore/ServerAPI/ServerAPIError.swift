package import Transport

/// Why the App Store Server API gave no usable answer: match on `code`, print the rest.
package struct ServerAPIError: Error, Sendable, Hashable, CustomStringConvertible {
    /// What went wrong.
    package let code: Code
    /// The host that was asked, or what of ours is wrong.
    package let place: String
    /// A sentence for people, with nothing of the request or the answer in it.
    package let reason: String
    /// Apple's `errorCode`, when there was one.
    package let errorNumber: ServerAPIErrorNumber?
    /// The status, when there was an answer.
    package let httpStatus: Int?
    /// When Apple, or our own budget, wants to be asked again.
    package let retryAfter: RetryAfter?

    /// An error of the given kind at the given place.
    package init(
        _ code: Code, at place: String, _ reason: String, errorNumber: ServerAPIErrorNumber? = nil,
        httpStatus: Int? = nil, retryAfter: RetryAfter? = nil
    ) {
        self.code = code
        self.place = place
        self.reason = reason
        self.errorNumber = errorNumber
        self.httpStatus = httpStatus
        self.retryAfter = retryAfter
    }

    /// `refused: api.storekit.apple.com: HTTP status 404, error 4040010`.
    package var description: String { "\(code.rawValue): \(place): \(reason)" }

    /// The failure of an exchange.
    package init(_ error: TransportError) {
        self.init(Code(rawValue: error.code.rawValue), at: error.place, error.reason)
    }
}

extension ServerAPIError {
    /// The kinds of failure: those of `TransportError.Code` by the same names, and these.
    package struct Code: RawRepresentable, Sendable, Hashable {
        /// The name, as logs and metrics show it.
        package let rawValue: String

        /// A code by its name.
        package init(rawValue: String) {
            self.rawValue = rawValue
        }

        /// Apple said no and gave a number: `errorNumber`.
        package static let refused = Self(rawValue: "refused")
        /// 401: a wrong key, clock or identifier; in production also an app that was never released.
        package static let unauthorized = Self(rawValue: "unauthorized")
        /// Neither environment knows any of the transactions.
        package static let notFound = Self(rawValue: "notFound")
        /// Another status than the one of success, without a number.
        package static let httpStatus = Self(rawValue: "httpStatus")
        /// Success with nothing in it, where there should be something.
        package static let emptyBody = Self(rawValue: "emptyBody")
        /// Success with HTML, truncated JSON or anything else that is not one JSON object.
        package static let notJSON = Self(rawValue: "notJSON")
        /// JSON whose members are not what they should be.
        package static let malformedAnswer = Self(rawValue: "malformedAnswer")
        /// A signed text in the answer is not authentic.
        package static let notAuthentic = Self(rawValue: "notAuthentic")
        /// The answer is about another app.
        package static let wrongBundleId = Self(rawValue: "wrongBundleId")
        /// The answer is about another environment.
        package static let wrongEnvironment = Self(rawValue: "wrongEnvironment")
        /// A history without a single transaction, though the transaction that was asked for exists: what a token with
        /// a wrong bundle id gets. Not to be believed.
        package static let emptyHistory = Self(rawValue: "emptyHistory")
        /// A history with a subscription, but no statuses for its customer: half an answer.
        package static let statusesMissing = Self(rawValue: "statusesMissing")
        /// The pages do not end.
        package static let endlessPages = Self(rawValue: "endlessPages")
        /// Nobody answers for that environment.
        package static let noEndpoint = Self(rawValue: "noEndpoint")
        /// There is nothing to look up.
        package static let noKeys = Self(rawValue: "noKeys")
        /// An identifier that must not go into a request.
        package static let invalidIdentifier = Self(rawValue: "invalidIdentifier")
        /// The private key cannot be read or used.
        package static let privateKey = Self(rawValue: "privateKey")
        /// Our own hourly budget is spent: `retryAfter`.
        package static let budgetSpent = Self(rawValue: "budgetSpent")
        /// As many calls were made for this as may be.
        package static let tooManyCalls = Self(rawValue: "tooManyCalls")
        /// The task that asked was cancelled.
        package static let cancelled = Self(rawValue: TransportError.Code.cancelled.rawValue)
        /// The time for all of it is over.
        package static let deadline = Self(rawValue: "deadline")
    }

    /// Whether the same request may succeed soon.
    package var isTemporary: Bool {
        switch code {
        case .refused: errorNumber?.isTemporary ?? false
        case .emptyBody, .notJSON, .statusesMissing, .budgetSpent, .deadline: true
        case .httpStatus: httpStatus.map { $0 >= 500 || $0 == 429 || $0 == 408 } ?? false
        default: TransportError.Code(rawValue: code.rawValue).isTemporary
        }
    }

    /// Whether nothing was sent, to spare the App Store: asking again at once is no use.
    package var isRefusal: Bool { TransportError.Code(rawValue: code.rawValue).isRefusal }

    /// Whether no connection to the host came about: other requests to it would fare the same.
    package var isUnreachable: Bool {
        let codes: [TransportError.Code] = [.connectFailed, .nameNotResolved, .tlsFailed]
        return codes.contains(TransportError.Code(rawValue: code.rawValue))
    }

    /// Whether Apple said that this environment does not know the transaction.
    package var isUnknownTransaction: Bool { code == .notFound || errorNumber?.isUnknownTransaction ?? false }
}
