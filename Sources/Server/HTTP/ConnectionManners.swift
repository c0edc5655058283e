import NIOCore
import NIOHTTP1

extension String {
    /// Of a request target: whether it is in absolute form (RFC 9112, 3.2.2) and names another host.
    fileprivate func isElsewhere(than host: String?) -> Bool {
        guard first != "/", let host, !host.isEmpty, let scheme = firstRange(of: "://") else { return false }
        let authority = self[scheme.upperBound...].prefix { $0 != "/" && $0 != "?" && $0 != "#" }
        let port = self[..<scheme.lowerBound].lowercased() == "https" ? ":443" : ":80"
        func plain(_ host: Substring) -> String {
            let name = (host.lastIndex(of: "@").map { host[host.index(after: $0)...] } ?? host).lowercased()
            return name.hasSuffix(port) ? String(name.dropLast(port.count)) : name
        }
        return plain(authority) != plain(host[...])
    }
}

/// What a connection owes to HTTP beyond one request after the other, where the versions are still to be seen:
///
/// - `Expect: 100-continue` gets its `100`, or at once a 413 when the announced body is too long (RFC 9110, 10.1.1);
/// - a connection is closed behind an answer that says so, and behind one to an HTTP/1.0 client that did not ask to
///   keep it; the answer says which it is where the client could not know;
/// - a client that goes away is told to ``ClientPresence``.
///
/// Requests may come in faster than they are answered; what the handler says itself waits for its turn.
final class ConnectionManners: ChannelDuplexHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias InboundOut = HTTPServerRequestPart
    typealias OutboundIn = HTTPServerResponsePart
    typealias OutboundOut = HTTPServerResponsePart

    /// A request that has no complete answer yet.
    private struct Owed {
        /// HTTP/1.0, which closes unless the answer says otherwise.
        let isOld: Bool
        let closesBehindAnswer: Bool
        /// Its sender waits for a `100`.
        var expectsContinue = false
    }

    private let maximumBodyBytes: Int
    private let presence: ClientPresence
    private let clock: RequestClock
    /// In the order of their coming; the first is the one being answered.
    private var owed: [Owed] = []
    private var answerCloses = false
    /// A request that is refused here as soon as all before it are answered; the rest of the connection is nobody's.
    private var refused: (version: HTTPVersion, problem: Problem)?

    init(maximumBodyBytes: Int, presence: ClientPresence, clock: RequestClock) {
        self.maximumBodyBytes = maximumBodyBytes
        self.presence = presence
        self.clock = clock
    }

    func handlerAdded(context: ChannelHandlerContext) {
        presence.arrived(context.channel)
    }

    // MARK: - Requests

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard refused == nil else { return }
        switch unwrapInboundIn(data) {
        case .end: clock.requestEnded()
        case .body: break
        case .head(let head):
            clock.headArrived()
            let expectsContinue = head.headers[canonicalForm: "expect"].contains { $0.lowercased() == "100-continue" }
            if let problem = problem(of: head, expectsContinue) {
                refused = (head.version, problem)
                if owed.isEmpty { refuse(head.version, problem, context: context) }
                return
            }
            owed.append(
                Owed(
                    isOld: head.version.minor == 0, closesBehindAnswer: !head.isKeepAlive,
                    expectsContinue: expectsContinue))
            if owed.count == 1 { sendContinue(context: context) }
        }
        context.fireChannelRead(data)
    }

    /// To the sender of the request whose turn it is, if it waits for that.
    private func sendContinue(context: ChannelHandlerContext) {
        guard owed.first?.expectsContinue == true else { return }
        owed[0].expectsContinue = false
        context.writeAndFlush(
            wrapOutboundOut(.head(HTTPResponseHead(version: .http1_1, status: .continue))), promise: nil)
    }

    private func problem(of head: HTTPRequestHead, _ expectsContinue: Bool) -> Problem? {
        // Two readers could read differently which endpoint is meant (RFC 9112, 3.2).
        let hosts = head.headers["host"]
        if hosts.count > 1 || head.uri.isElsewhere(than: hosts.first) {
            return Problem(status: 400, code: "severalHosts", detail: "a request names one host")
        }
        // The decoder takes the chunks apart and leaves what else was done to the body as it is (RFC 9112, 6.1).
        let codings = head.headers[canonicalForm: "transfer-encoding"].map { $0.lowercased() }
        if !codings.isEmpty, codings != ["chunked"] {
            return Problem(status: 501, code: "transferCoding", detail: "a request's only transfer coding is chunked")
        }
        return expectsContinue && announcedLength(of: head) > maximumBodyBytes ? .bodyTooLarge : nil
    }

    private func announcedLength(of head: HTTPRequestHead) -> Int {
        // The decoder let pass digits alone, and more than are ever sent.
        head.headers.first(name: "content-length").map { Int($0) ?? .max } ?? 0
    }

    private func refuse(_ version: HTTPVersion, _ problem: Problem, context: ChannelHandlerContext) {
        let body = problem.json
        let headers: HTTPHeaders = [
            "content-type": Problem.contentType, "content-length": "\(body.count)", "connection": "close",
        ]
        let status = HTTPResponseStatus(statusCode: problem.status)
        context.write(
            wrapOutboundOut(.head(HTTPResponseHead(version: version, status: status, headers: headers))), promise: nil)
        context.write(wrapOutboundOut(.body(.byteBuffer(ByteBuffer(bytes: body)))), promise: nil)
        close(behind: nil, context: context)
        context.flush()
    }

    // MARK: - Answers

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        switch unwrapOutboundIn(data) {
        case .head(var head):
            let says = head.headers[canonicalForm: "connection"]
            answerCloses = says.contains { $0.lowercased() == "close" }
            if let question = owed.first, says.isEmpty, question.closesBehindAnswer || question.isOld {
                head.headers.add(name: "connection", value: question.closesBehindAnswer ? "close" : "keep-alive")
            }
            context.write(wrapOutboundOut(.head(head)), promise: promise)
        case .body:
            context.write(data, promise: promise)
        case .end(let trailers):
            let answered = owed.isEmpty ? nil : owed.removeFirst()
            if answerCloses || answered?.closesBehindAnswer ?? false {
                close(behind: trailers, promise: promise, context: context)
            } else {
                context.write(data, promise: promise)
                if let refused, owed.isEmpty { refuse(refused.version, refused.problem, context: context) }
                sendContinue(context: context)
            }
        }
    }

    /// Ends the answer, and the connection once that is written.
    private func close(
        behind trailers: HTTPHeaders?, promise: EventLoopPromise<Void>? = nil, context: ChannelHandlerContext
    ) {
        let written = promise ?? context.eventLoop.makePromise()
        let channel = context.channel
        written.futureResult.whenComplete { _ in channel.close(mode: .all, promise: nil) }
        context.write(wrapOutboundOut(.end(trailers)), promise: written)
    }

    // MARK: - Leaving

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if case .inputClosed = event as? ChannelEvent { presence.left(context.channel) }
        context.fireUserInboundEventTriggered(event)
    }

    func channelInactive(context: ChannelHandlerContext) {
        presence.left(context.channel)
        context.fireChannelInactive()
    }

    /// Comes for a connection, too, that was closed before it was active.
    func handlerRemoved(context: ChannelHandlerContext) {
        presence.forget(context.channel)
    }
}
