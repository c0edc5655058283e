/// A part of the configuration that a table of settings describes: the configuration itself, or one app.
package protocol Configurable {
    /// The value without any configured key.
    static var defaults: Self { get }
    /// The keys, in the order in which they are read, compared and documented.
    static var settings: [Setting<Self>] { get }
}

/// One key of the configuration: how it is read, what a reload does with a new value, and its row in
/// docs/CONFIGURATION.md.
package struct Setting<Subject: Configurable> {
    /// Reads the key `name` of a mapping. A mistake is recorded, and the subject keeps its value.
    typealias Reader = (_ node: ConfigurationNode, _ name: String, _ subject: inout Subject) -> Void

    /// The path of the key, for example `upstream.proxy`; of an app's key, without `apps[].`.
    package let key: String
    /// The accepted values with their unit, in Markdown.
    package let values: String
    /// The default, in Markdown.
    package let defaultValue: String
    /// What the key means, in Markdown.
    package let meaning: String
    /// Reads the key; `nil` if the row of its parent reads it.
    let read: Reader?
    /// The value that a reload compares; `nil` if a change is reported by another row.
    let value: ((Subject) -> AnyHashable?)?
    /// Copies the value of an earlier configuration. `nil` if a reload applies a new value; otherwise a new value needs
    /// a restart.
    var keep: ((_ subject: inout Subject, _ previous: Subject) -> Void)?
    /// The name in the log of a reload; `nil` for the key itself. Keys with the same name are reported once.
    var group: String?

    var reportedName: String { group ?? key }

    package var needsRestart: Bool { keep != nil }

    func reported(as group: String) -> Setting {
        var row = self
        row.group = group
        return row
    }

    /// - Parameter keep: copies the value of the configuration before the reload.
    func needingRestart(_ keep: @escaping (_ subject: inout Subject, _ previous: Subject) -> Void) -> Setting {
        var row = self
        row.keep = keep
        return row
    }
}

extension Configurable {
    /// Reads all keys in the order of the table. Keys that have no row are recorded as mistakes.
    mutating func read(_ node: ConfigurationNode) {
        Self.read(Self.settings[...], at: 0, node, into: &self)
        node.finish()
    }

    /// Reads rows whose paths have the same first `depth` names, the path of `node`.
    private static func read(
        _ rows: ArraySlice<Setting<Self>>, at depth: Int, _ node: ConfigurationNode, into subject: inout Self
    ) {
        var rest = rows
        while let row = rest.first {
            let names = row.key.split(separator: ".")
            let name = String(names[depth])
            if names.count == depth + 1 {
                row.read?(node, name, &subject)
                rest = rest.dropFirst()
                continue
            }
            let members = rest.prefix { $0.key.split(separator: ".").starts(with: names[...depth]) }
            rest = rest.dropFirst(members.count)
            guard members.contains(where: { $0.read != nil }), let child = node.child(name) else { continue }
            read(members, at: depth + 1, child, into: &subject)
            child.finish()
        }
    }
}
