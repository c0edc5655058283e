import ArgumentParser
import Hummingbird
import Server

/// Serves the route that `make bench-http` measures the others by.
struct BaselineRouteCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "bare-route", abstract: "A route that does next to nothing, to measure by.", shouldDisplay: false)

    @Option var port: Int

    func run() async throws {
        try await BaselineRoute.application(port: port).runService()
    }
}
