/// Why an HTTP exchange gave no response: match on `code`, print the rest.
package struct TransportError: Error, Sendable, Hashable, CustomStringConvertible {
    /// What went wrong.
    package let code: Code
    /// The host that was asked, never more of the URL: paths and queries can hold what must not be logged.
    package let place: String
    /// A sentence for people, with nothing in it that was sent.
    package let reason: String
    /// Part of the request's body went out, and not all of it: a long body on a slow line says nothing of the host.
    package var endedWhileSending = false

    /// An error of the given kind at the given host.
    package init(_ code: Code, at place: String, _ reason: String) {
        self.code = code
        self.place = place
        self.reason = reason
    }

    /// `timedOut: buy.itunes.apple.com: no complete answer in time`.
    package var description: String { "\(code.rawValue): \(place): \(reason)" }
}

extension TransportError {
    /// The kinds of failure; an open list, so that a new one breaks no `switch`.
    package struct Code: RawRepresentable, Sendable, Hashable {
        /// The name, as logs and metrics show it.
        package let rawValue: String

        /// A code by its name.
        package init(rawValue: String) {
            self.rawValue = rawValue
        }
    }
}

extension TransportError.Code {
    /// Not an absolute http or https URL of the plain form that `HTTPURL` takes.
    package static let invalidURL = Self(rawValue: "invalidURL")
    /// A header with line breaks, or one that is not the caller's to set; or a body on a GET.
    package static let invalidRequest = Self(rawValue: "invalidRequest")
    /// http to a host other than this machine.
    package static let refusedPlainHTTP = Self(rawValue: "refusedPlainHTTP")
    /// A setting of the transport that cannot work, as a proxy of an unknown kind.
    package static let invalidConfiguration = Self(rawValue: "invalidConfiguration")
    /// The host, or the proxy, has no address.
    package static let nameNotResolved = Self(rawValue: "nameNotResolved")
    /// Nobody listens there, or the proxy refused.
    package static let connectFailed = Self(rawValue: "connectFailed")
    /// The handshake failed, or the certificate is not trusted.
    package static let tlsFailed = Self(rawValue: "tlsFailed")
    /// No complete response before the deadline.
    package static let timedOut = Self(rawValue: "timedOut")
    /// The connection broke while sending or receiving.
    package static let connectionReset = Self(rawValue: "connectionReset")
    /// The connection closed without a byte of response.
    package static let emptyReply = Self(rawValue: "emptyReply")
    /// The connection closed in the middle of a response.
    package static let truncated = Self(rawValue: "truncated")
    /// The body, or the headers, went over the limit.
    package static let responseTooLarge = Self(rawValue: "responseTooLarge")
    /// The other side does not speak HTTP as it should.
    package static let protocolError = Self(rawValue: "protocolError")
    /// The waiting task was cancelled.
    package static let cancelled = Self(rawValue: "cancelled")
    /// As many requests are waiting as may wait.
    package static let queueFull = Self(rawValue: "queueFull")
    /// The host failed too often; it is left alone for a while.
    package static let circuitOpen = Self(rawValue: "circuitOpen")
    /// As much was asked again as may be.
    package static let tooManyRepetitions = Self(rawValue: "tooManyRepetitions")
    /// The transport was shut down.
    package static let shutDown = Self(rawValue: "shutDown")
    /// libcurl failed in a way that says nothing about the other side.
    package static let internalFault = Self(rawValue: "internalFault")

    private static let temporary: Set<Self> = [
        .nameNotResolved, .connectFailed, .tlsFailed, .timedOut, .connectionReset, .emptyReply, .truncated,
        .protocolError, .queueFull, .circuitOpen, .tooManyRepetitions, .internalFault,
    ]

    private static let refusals: Set<Self> = [.queueFull, .circuitOpen, .tooManyRepetitions]

    /// True where nothing was sent, to spare the other side and us: the same request at once would fare no better.
    package var isRefusal: Bool { Self.refusals.contains(self) }

    /// True when the same request may succeed later; false for what is wrong with the request, and for the ends we
    /// chose ourselves.
    package var isTemporary: Bool { Self.temporary.contains(self) }
}
