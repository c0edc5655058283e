import ArgumentParser
import Hummingbird
import Server

/// Runs the hidden `bare-route` command: a server with one minimal route, which `make bench-http` uses as the
/// baseline.
struct BaselineRouteCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "bare-route", abstract: "Serves one minimal route as a benchmark baseline.", shouldDisplay: false)

    @Option var port: Int

    func run() async throws {
        try await BaselineRoute.application(port: port).runService()
    }
}
