import NIOCore
import NIOHTTP1

extension String {
    /// In absolute form (RFC 9112, section 3.2.2), for example `http://a.example/verifyReceipt` with `Host: b.example`.
    fileprivate func namesHost(otherThan host: String?) -> Bool {
        guard first != "/", let host, !host.isEmpty, let scheme = firstRange(of: "://") else { return false }
        let authority = self[scheme.upperBound...].prefix { $0 != "/" && $0 != "?" && $0 != "#" }
        let port = self[..<scheme.lowerBound].lowercased() == "https" ? ":443" : ":80"
        // Without user information and default port, in lower case: `user@A.example:80` and `a.example` are equal.
        func plain(_ host: Substring) -> String {
            let name = (host.lastIndex(of: "@").map { host[host.index(after: $0)...] } ?? host).lowercased()
            return name.hasSuffix(port) ? String(name.dropLast(port.count)) : name
        }
        return plain(authority) != plain(host[...])
    }
}

/// Implements the rules of HTTP/1.0 and HTTP/1.1 that need the version of a request and concern the whole connection:
///
/// - `Expect: 100-continue` gets `100`, or 413 at once if the announced body is too long (RFC 9110, section 10.1.1);
/// - a request is refused if HTTP/1.1 does not allow it or if two parsers could read it differently (request
///   smuggling);
/// - a connection is closed after a response with `Connection: close`, and after a response to an HTTP/1.0 client
///   that did not ask to keep it open. The response has a `Connection` header if the client could not know otherwise.
///
/// This handler comes after ``RequestPipeliningHandler``, so at most one request has no response yet.
final class HTTP1SemanticsHandler: ChannelDuplexHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias InboundOut = HTTPServerRequestPart
    typealias OutboundIn = HTTPServerResponsePart
    typealias OutboundOut = HTTPServerResponsePart

    private struct PendingResponse {
        /// HTTP/1.0 closes the connection unless the response says otherwise.
        let isHTTP10: Bool
        let closesAfterResponse: Bool
    }

    /// Longest body in bytes that a client with `Expect: 100-continue` may announce.
    private let maximumBodyBytes: Int
    private var pendingResponse: PendingResponse?
    private var responseCloses = false
    /// The last response is written; further requests are ignored.
    private var isClosing = false

    init(maximumBodyBytes: Int) { self.maximumBodyBytes = maximumBodyBytes }

    // MARK: - Requests

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard !isClosing else { return }
        if case .head(let head) = unwrapInboundIn(data) {
            let expectsContinue = head.headers[canonicalForm: "expect"].contains { $0.lowercased() == "100-continue" }
            if let problem = problem(of: head, expectsContinue) {
                refuse(head.version, problem, context: context)
                return
            }
            pendingResponse = PendingResponse(isHTTP10: head.version.minor == 0, closesAfterResponse: !head.isKeepAlive)
            if expectsContinue { sendContinue(context: context) }
        }
        context.fireChannelRead(data)
    }

    /// Writes `HTTP/1.1 100 Continue`, after which the client sends the body.
    private func sendContinue(context: ChannelHandlerContext) {
        context.writeAndFlush(
            wrapOutboundOut(.head(HTTPResponseHead(version: .http1_1, status: .continue))), promise: nil)
    }

    private func problem(of head: HTTPRequestHead, _ expectsContinue: Bool) -> ProblemDetails? {
        // Two parsers could disagree about the endpoint that is meant (RFC 9112, section 3.2).
        let hosts = head.headers["host"]
        if hosts.count > 1 || head.uri.namesHost(otherThan: hosts.first) {
            return ProblemDetails(status: 400, code: "severalHosts", detail: "the request must name exactly one host")
        }
        // RFC 9112, section 3.2.
        if hosts.isEmpty, head.version.minor > 0 {
            return ProblemDetails(
                status: 400, code: "missingHost", detail: "an HTTP/1.1 request must have a Host header")
        }
        // The decoder joins the chunks but does not undo other codings of the body, for example gzip (RFC 9112,
        // section 6.1).
        let codings = head.headers[canonicalForm: "transfer-encoding"].map { $0.lowercased() }
        if !codings.isEmpty, head.version.minor == 0 {
            return ProblemDetails(
                status: 400, code: "transferCoding",
                detail: "an HTTP/1.0 request must not have a Transfer-Encoding header")
        }
        if !codings.isEmpty, codings != ["chunked"] {
            return ProblemDetails(
                status: 501, code: "transferCoding", detail: "the only supported transfer coding is chunked")
        }
        return expectsContinue && announcedLength(of: head) > maximumBodyBytes ? .bodyTooLarge : nil
    }

    private func announcedLength(of head: HTTPRequestHead) -> Int {
        // The decoder accepts only digits. A number that does not fit into `Int` is longer than every limit.
        head.headers.first(name: "content-length").map { Int($0) ?? .max } ?? 0
    }

    private func refuse(_ version: HTTPVersion, _ problem: ProblemDetails, context: ChannelHandlerContext) {
        let body = problem.json
        let headers: HTTPHeaders = [
            "content-type": ProblemDetails.contentType, "content-length": "\(body.count)", "connection": "close",
        ]
        let status = HTTPResponseStatus(statusCode: problem.status)
        context.write(
            wrapOutboundOut(.head(HTTPResponseHead(version: version, status: status, headers: headers))), promise: nil)
        context.write(wrapOutboundOut(.body(.byteBuffer(ByteBuffer(bytes: body)))), promise: nil)
        close(after: nil, context: context)
        context.flush()
    }

    // MARK: - Responses

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        switch unwrapOutboundIn(data) {
        case .head(var head):
            let connectionValues = head.headers[canonicalForm: "connection"]
            responseCloses = connectionValues.contains { $0.lowercased() == "close" }
            guard let pendingResponse, connectionValues.isEmpty,
                pendingResponse.closesAfterResponse || pendingResponse.isHTTP10
            else { return context.write(data, promise: promise) }
            head.headers.add(name: "connection", value: pendingResponse.closesAfterResponse ? "close" : "keep-alive")
            context.write(wrapOutboundOut(.head(head)), promise: promise)
        case .body:
            context.write(data, promise: promise)
        case .end(let trailers):
            let answered = pendingResponse.take()
            if responseCloses || answered?.closesAfterResponse ?? false {
                close(after: trailers, promise: promise, context: context)
            } else {
                context.write(data, promise: promise)
            }
        }
    }

    private func close(
        after trailers: HTTPHeaders?, promise: EventLoopPromise<Void>? = nil, context: ChannelHandlerContext
    ) {
        isClosing = true
        let written = promise ?? context.eventLoop.makePromise()
        let channel = context.channel
        written.futureResult.whenComplete { _ in channel.close(mode: .all, promise: nil) }
        context.write(wrapOutboundOut(.end(trailers)), promise: written)
    }
}
