import ReceiptBridgeBase
import ReceiptBridgeCore
import Foundation
import Logging
import ReceiptBridgeResponses
import ReceiptBridgeServer
import ReceiptBridgeSimulator
import Testing
import ReceiptBridgeTestSupport

@Suite("The OpenAPI document")
struct DescriptionTests {
    /// Returns the document as it is served.
    private func document(_ proxy: Proxy) async throws -> JSONValue {
        let answer = try await proxy.operations("/openapi.json")
        #expect(answer.status == 200 && answer.header("Content-Type") == "application/json")
        #expect(answer.header("X-Content-Type-Options") == "nosniff")
        return answer.json
    }

    private func members(_ value: JSONValue?) -> [JSONValue.Member] {
        if case .object(let members)? = value { members } else { [] }
    }

    /// Resolves a `$ref` within the document.
    private func resolved(_ value: JSONValue, in document: JSONValue) -> JSONValue {
        guard let reference = value["$ref"]?.text else { return value }
        return reference.split(separator: "/").dropFirst().reduce(document) { $0[String($1)] ?? .null }
    }

    /// Returns the routes of a server with tokens, for example `GET /healthz`.
    private func allRoutes() throws -> Set<String> {
        var settings = ProxyConfiguration()
        settings.tokens = [Redacted("Zm9ydHktdHdv")]
        let logger = Logger.silent
        let server = try ProxyServer(
            settings: settings,
            pipelines: try ServiceGraph(settings: settings, transport: nil, tables: .bundled, logger: logger),
            version: "1.2.3", logger: logger
        ) { _ in }
        return server.routes
    }

    @Test("The document is served as OpenAPI 3.1 and lists exactly the routes of the server")
    func routes() async throws {
        let routes = try allRoutes()
        try await Proxy.serving { proxy in
            let document = try await document(proxy)
            #expect(document["openapi"]?.text == "3.1.0")
            let methods: Set = ["get", "head", "put", "post", "delete", "patch", "options"]
            let described = members(document["paths"]).flatMap { path in
                members(resolved(path.value, in: document)).map(\.key).filter(methods.contains).map {
                    "\($0.uppercased()) \(path.key)"
                }
            }
            #expect(Set(described).count == described.count)
            #expect(Set(described).subtracting(routes).sorted() == [])
            #expect(routes.subtracting(described).sorted() == [])
        }
    }

    @Test("The document has every route with a metric label")
    func labels() async throws {
        let routes = try allRoutes()
        try await Proxy.serving({ settings, _ in settings.tokens = [Redacted("Zm9ydHktdHdv")] }) { proxy in
            for route in routes where !route.hasPrefix("HEAD ") {
                let target = route.replacing(/\{\w+\}/, with: "1")
                _ = try await proxy.send(
                    "\(target) HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer Zm9ydHktdHdv\r\nContent-Length: 0\r\n\r\n")
            }
            let metrics = try await proxy.metrics()
            let counted = metrics.samples.filter { $1 > 0 }.keys.filter {
                $0.hasPrefix("receipt_bridge_http_requests_total")
            }
            #expect(!counted.contains { $0.contains(#"route="other""#) }, "\(counted)")
            for route in routes {
                let path = route.drop { $0 != "/" }
                #expect(counted.contains { $0.contains(#"route="\#(path)""#) }, "\(route)")
            }
        }
    }

    @Test("The document lists every problem code with its status")
    func codes() async throws {
        try await Proxy.serving { proxy in
            let document = try await document(proxy)
            var described: [String: Set<String>] = [:]
            for path in members(document["paths"]).map({ resolved($0.value, in: document) }) {
                for operation in members(path) {
                    for response in members(operation.value["responses"]) {
                        let schema = response.value["content"]?["application/problem+json"]?["schema"]
                        for code in schema?["properties"]?["code"]?["enum"]?.elements ?? [] {
                            described[code.text ?? "", default: []].insert(response.key)
                        }
                    }
                }
            }
            for code in OperationError.Code.allCases {
                #expect(described[code.rawValue]?.contains("\(code.httpStatus)") == true, "\(code)")
            }
            for code in NotificationRejection.Code.allCases {
                #expect(described[code.rawValue]?.contains("\(code.httpStatus)") == true, "\(code)")
            }
            for (code, status) in [("bodyTooLarge", "413"), ("encodedBody", "415"), ("notFound", "404")] {
                #expect(described[code]?.contains(status) == true, "\(code)")
            }
        }
    }
}
