/** An unwanted shape of code, as a selector over the syntax tree, and what to write instead. */
export type RestrictedSyntax = { selector: string; message: string };

type Rule = {
  meta: { schema: object };
  create: (context: Context) => Record<string, (node: unknown) => void>;
};
type Context = { options: readonly unknown[]; report: (problem: { node: unknown; message: string }) => void };

const restricted: Rule = {
  meta: { schema: { type: 'array', items: { type: 'object', required: ['selector', 'message'] } } },
  create: ({ options, report }) =>
    Object.fromEntries(
      (options as RestrictedSyntax[]).map(({ selector, message }) => [selector, (node) => report({ node, message })]),
    ),
};

// oxlint takes a plugin as a default export, and has no rule of its own for shapes.
const plugin = { meta: { name: 'shape' }, rules: { restricted } };
export default plugin;
