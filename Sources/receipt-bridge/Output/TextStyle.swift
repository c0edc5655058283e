import ArgumentParser
import Foundation

/// The meaning of a text on a terminal. The colors are of the basic eight, which every terminal theme makes readable on
/// its background. Yellow is not used, because it is hardly visible on white.
enum TextStyle: String {
    case good = "32"
    case warning = "35"
    case bad = "31"
    case dim = "2"
    case heading = "1"
}

/// Whether output is colored: the option `--color`.
enum ColorPolicy: String, ExpressibleByArgument, CaseIterable {
    case auto, always, never

    /// The words of `--color` and all other words of a command line. The option may be anywhere before `--`.
    static func split(_ arguments: some Sequence<String>) -> (color: [String], rest: [String]) {
        var (color, rest): ([String], [String]) = ([], [])
        var isValue = false
        var isOption = true
        for argument in arguments {
            isOption = isOption && argument != "--"
            if isValue {
                color.append(argument)
                isValue = false
            } else if isOption, argument == "--color" {
                color.append(argument)
                isValue = true
            } else if isOption, argument.hasPrefix("--color=") {
                color.append(argument)
            } else {
                rest.append(argument)
            }
        }
        return (color, rest)
    }

    /// The policy that the command line names. A wrong value is reported when the command line is parsed.
    static let ofProcess: Self = {
        let words = split(CommandLine.arguments.dropFirst()).color.last.map { $0.split(separator: "=") } ?? []
        return words.last.flatMap { Self(rawValue: String($0)) } ?? .auto
    }()

    /// Whether output to the descriptor is colored: by default only that to a terminal, unless `NO_COLOR` is set or the
    /// terminal is dumb.
    func applies(to descriptor: Int32) -> Bool {
        switch self {
        case .always: return true
        case .never: return false
        case .auto:
            let isRefused = ProcessInfo.processInfo.environment["NO_COLOR"].map { !$0.isEmpty } ?? false
            return !isRefused && Terminal.isCapable(descriptor)
        }
    }
}

extension Terminal {
    /// Returns whether the descriptor is a terminal that can move its cursor.
    static func isCapable(_ descriptor: Int32) -> Bool {
        isatty(descriptor) == 1 && ProcessInfo.processInfo.environment["TERM"] != "dumb"
    }

    /// Unchanged if output to the descriptor is not colored. The caller has made outside text visible.
    static func style(_ text: String, as style: TextStyle?, on descriptor: Int32 = STDERR_FILENO) -> String {
        guard let style, !text.isEmpty, ColorPolicy.ofProcess.applies(to: descriptor) else { return text }
        return "\u{1B}[\(style.rawValue)m\(text)\u{1B}[0m"
    }

    /// Styles the beginnings of lines. The first beginning that matches a line counts; spaces before it are ignored.
    static func style(
        beginnings: [(text: String, style: TextStyle)], of text: String, on descriptor: Int32 = STDERR_FILENO
    ) -> String {
        text.split(separator: "\n", omittingEmptySubsequences: false).map { line in
            let (indent, words) = (line.prefix { $0 == " " }, line.drop { $0 == " " })
            guard let match = beginnings.first(where: { words.hasPrefix($0.text) }) else { return String(line) }
            return indent + style(match.text, as: match.style, on: descriptor) + words.dropFirst(match.text.count)
        }.joined(separator: "\n")
    }
}
