import ReceiptBridgeBase

enum SettingUnit: String {
    case seconds, days, connections
    case requestsPerMinute = "requests per minute"
}

/// Rows of common types of values. Each row's default is the value of ``Configurable/defaults``.
extension Setting {
    /// - Parameter read: reads the key; `nil` if the row of its parent reads it.
    static func custom<Value: Hashable>(
        _ key: String, _ values: String, default defaultValue: String, _ path: KeyPath<Subject, Value>,
        _ meaning: String, read: Reader? = nil
    ) -> Setting {
        Setting(
            key: key, values: values, defaultValue: defaultValue, meaning: meaning, read: read,
            value: { AnyHashable($0[keyPath: path]) })
    }

    /// A row whose value stays as it is if the key is absent or has a mistake.
    static func row<Value: Hashable>(
        _ key: String, _ values: String, default defaultValue: String, _ path: WritableKeyPath<Subject, Value>,
        _ meaning: String, read: @escaping (_ node: ConfigurationNode, _ name: String) -> Value?
    ) -> Setting {
        custom(key, values, default: defaultValue, path, meaning) { node, name, subject in
            if let value = read(node, name) { subject[keyPath: path] = value }
        }
    }

    /// A row that a reload does not compare, because another row reports its changes.
    static func unreported(
        _ key: String, _ values: String, default defaultValue: String, _ meaning: String, read: Reader? = nil
    ) -> Setting {
        Setting(key: key, values: values, defaultValue: defaultValue, meaning: meaning, read: read, value: nil)
    }

    static func integer(
        _ key: String, _ path: WritableKeyPath<Subject, Int64>, in range: ClosedRange<Int64>, _ unit: SettingUnit,
        _ meaning: String
    ) -> Setting {
        row(key, text(range, unit), default: "\(Subject.defaults[keyPath: path])", path, meaning) {
            $0.integer($1, in: range)
        }
    }

    /// A whole number that is absent by default.
    static func integer(
        _ key: String, _ path: WritableKeyPath<Subject, Int64?>, in range: ClosedRange<Int64>, _ unit: SettingUnit?,
        _ meaning: String
    ) -> Setting {
        custom(key, unit.map { text(range, $0) } ?? "whole number", default: "none", path, meaning) {
            node, name, subject in
            subject[keyPath: path] = node.integer(name, in: range)
        }
    }

    /// A time in whole seconds.
    static func seconds(
        _ key: String, _ path: WritableKeyPath<Subject, Duration>, in range: ClosedRange<Int64>, _ meaning: String
    ) -> Setting {
        let standard = Subject.defaults[keyPath: path].components.seconds
        return row(key, text(range, .seconds), default: "\(standard)", path, meaning) { node, name in
            node.integer(name, in: range).map { Duration.seconds($0) }
        }
    }

    static func choice<Choice: RawRepresentable & CaseIterable & Hashable>(
        _ key: String, _ path: WritableKeyPath<Subject, Choice>, _ meaning: String
    ) -> Setting where Choice.RawValue == String {
        let values = Choice.allCases.map { "`\($0.rawValue)`" }.joined(separator: ", ")
        return row(key, values, default: "`\(Subject.defaults[keyPath: path].rawValue)`", path, meaning) {
            $0.choice($1, of: Choice.self)
        }
    }

    static func flag(_ key: String, _ path: WritableKeyPath<Subject, Bool>, _ meaning: String) -> Setting {
        row(key, "`true`, `false`", default: "`\(Subject.defaults[keyPath: path])`", path, meaning) {
            ConfigurationFile.readBoolean($0, $1)
        }
    }

    /// A URL. Its form is checked when all sources of the configuration are combined.
    static func url(
        _ key: String, _ values: String, _ path: WritableKeyPath<Subject, String>, _ meaning: String
    ) -> Setting {
        row(key, values, default: "`\(Subject.defaults[keyPath: path])`", path, meaning) {
            $0.text($1, expecting: "a URL")
        }
    }

    /// A shared secret that is absent by default.
    static func secret(
        _ key: String, default defaultValue: String, _ path: WritableKeyPath<Subject, SharedSecret?>,
        _ meaning: String
    ) -> Setting {
        custom(key, "secret", default: defaultValue, path, meaning) { node, name, subject in
            subject[keyPath: path] = node.secret(name)
        }
    }

    /// A list of shared secrets, empty by default.
    static func secrets(_ key: String, _ path: WritableKeyPath<Subject, [SharedSecret]>, _ meaning: String) -> Setting {
        custom(key, "list of secrets", default: "none", path, meaning) { node, name, subject in
            subject[keyPath: path] = node.secrets(name, .line)
        }
    }

    private static func text(_ range: ClosedRange<Int64>, _ unit: SettingUnit) -> String {
        "\(range.lowerBound) to \(range.upperBound) \(unit.rawValue)"
    }
}
