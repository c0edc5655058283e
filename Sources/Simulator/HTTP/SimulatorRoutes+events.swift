import Base
import HTTPTypes
import Hummingbird
import NIOCore

/// The routes for events and notifications, which tests use to control the simulator.
extension SimulatorRoutes {
    func addEvents(to router: Router<SimulatorContext>) {
        router.post("events") { request, _ in try await simulateEvents(request) }
        router.get("notifications/deliveries") { _, _ in Self.json(outbox.counts.document) }
        router.get("notifications/targets") { _, _ in Self.json(outbox.targets.document) }
        router.post("notifications/targets") { request, _ in try await setTarget(request) }
        router.delete("notifications/targets") { _, _ in
            outbox.targets.removeAll()
            return HTTPResponse.Status.noContent
        }
    }

    /// Handles `POST /events`. Responds with `{"events": [...]}`, each element as in ``EventOutcome/document``.
    private func simulateEvents(_ request: Request) async throws -> Response {
        guard let eventsRequest = try await document(of: request).flatMap(EventsRequest.init) else {
            throw HTTPError(.badRequest, message: "the body needs count, or event with one of: \(Self.eventNames)")
        }
        var outcomes: [EventOutcome]
        switch eventsRequest.kind {
        case .many(let count): outcomes = events.make(count, seed: eventsRequest.seed, in: eventsRequest.environment)
        case .one(let event):
            do {
                outcomes = [try events.make(event, seed: eventsRequest.seed)]
            } catch .unknown {
                throw HTTPError(.notFound, message: "no such customer or transaction")
            } catch .impossible {
                throw HTTPError(.conflict, message: "\(event.event.rawValue) is not possible in the current state")
            }
        }
        if eventsRequest.isSilent { outcomes = outcomes.map(\.silent) }
        outbox.post(outcomes, eventsRequest.options)
        return Self.json(.object(["events": .array(outcomes.map(\.document))]))
    }

    /// Handles `POST /notifications/targets`: `{"url": "http://127.0.0.1:9000/x", "version": 1 | 2, "environment":
    /// "production" | "sandbox", "timeout": 30}`. The timeout is in seconds, 1 to 600.
    private func setTarget(_ request: Request) async throws -> Response {
        let document = try await document(of: request)
        guard let url = document?["url"]?.text.flatMap(LoopbackURL.init) else {
            throw HTTPError(.badRequest, message: "url must be an http:// URL of this machine")
        }
        guard let version = NotificationTarget.Version(rawValue: document?["version"]?.integer ?? 2) else {
            throw HTTPError(.badRequest, message: "version must be 1 or 2")
        }
        guard let environment = document?.environment else {
            throw HTTPError(.badRequest, message: "environment must be production or sandbox")
        }
        let seconds = min(max(document?["timeout"]?.integer ?? 30, 1), 600)
        outbox.targets.set(.init(url: url, version: version, timeout: .seconds(seconds)), for: environment)
        return Response(status: .created)
    }

    /// Returns the body as JSON, or `nil` if it is not JSON.
    func document(of request: Request) async throws -> JSONValue? {
        let body = try await request.body.collect(upTo: 65_536)
        return try? JSONValue(reading: Array(body.readableBytesView))
    }

    private static var eventNames: String { WorldEvent.allCases.map(\.rawValue).joined(separator: ", ") }
}
