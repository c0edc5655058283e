import ArgumentParser
import ReceiptBridgeBase

/// A command or an option that the parser does not know, in arguments that it rejected.
///
/// The parser itself suggests options only, and only if nothing that is required is missing.
struct Misspelling {
    /// The command that the arguments name, for example `receipt-bridge refunds sweep`.
    let command: String
    /// What is unknown, and what may be meant; `nil` if nothing is unknown or resembles a known name.
    let sentence: String?

    init(_ arguments: some Collection<String>) {
        var (type, words): (any ParsableCommand.Type, [String]) = (ReceiptBridge.self, ["receipt-bridge"])
        var rest = arguments[...]
        while let word = rest.first, let next = type.configuration.subcommands.first(where: { $0._commandName == word })
        {
            type = next
            words.append(word)
            rest = rest.dropFirst()
        }
        command = words.joined(separator: " ")
        if words.count == 1, let word = rest.first, let meant = Self.synonyms[word] {
            sentence = "Unknown \(word.hasPrefix("-") ? "option" : "command") '\(word)'. Did you mean \(meant)?"
            return
        }
        if let word = rest.first, !word.hasPrefix("-"), !type.configuration.subcommands.isEmpty {
            let names = type.configuration.subcommands.filter { $0.configuration.shouldDisplay }.map { $0._commandName }
            sentence = Self.sentence("Unknown command '\(word)'", word.didYouMean(names + ["help"]))
            return
        }
        let help = ReceiptBridge.helpMessage(for: type, includeHidden: true)
        let known = Set(help.matches(of: /--[a-z0-9][a-z0-9-]*/).map { String($0.output) })
        let options = rest.prefix { $0 != "--" }.filter { $0.hasPrefix("--") }.map { String($0.prefix { $0 != "=" }) }
        let unknown = options.first { !known.contains($0) && !$0.didYouMean(known).isEmpty }
        sentence = unknown.flatMap { Self.sentence("Unknown option '\($0)'", $0.didYouMean(known)) }
    }

    /// What other programs call a command.
    private static let synonyms = [
        "start": "serve", "run": "serve", "server": "serve", "proxy": "serve", "check": "doctor", "validate": "doctor",
        "test": "doctor", "status": "doctor", "version": "--version", "-V": "--version", "-v": "--version",
        "import": "migrate", "convert": "migrate", "diff": "compare", "delete": "forget", "erase": "forget",
    ]

    private static func sentence(_ unknown: String, _ question: String) -> String? {
        question.isEmpty ? nil : unknown + question
    }
}
