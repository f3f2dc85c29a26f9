// The import directions of the architecture, enforced. Each rule says what is wrong, why, and what to do instead.
// `test/tidy/guards.test.ts` plants one violation per rule and sees it found; a new rule needs its plant there.

/** From the bottom to the top, and why nothing in a layer imports what stands above it. */
const layers = {
  'program-files': 'it knows where the program has its files and nothing else, so that everything can ask it',
  contract: 'it is the API as text, and everything else may rest on it',
  protocol: 'it is pure: bytes and strings in, values out',
  platform:
    'it touches the outside world and knows no mail, so that a resolver or a database can be replaced without reading mail rules',
  tenancy: 'teams, keys and permissions are the same whatever a team does with its mail',
  mail: 'mail takes the same path whatever it was sent for; features register with it, or hand it what they have',
  features: 'a feature is used by the verbs of the API, by jobs and by pages, and knows none of them',
};
const ports = 'ports';
const order = [...Object.keys(layers), ports];

const layerRules = Object.keys(layers).map((layer, at) => ({
  name: `${layer}-imports-nothing-above-it`,
  severity: 'error',
  comment:
    `src/${layer} imports something that stands above it (${order.slice(at + 1).join(', ')}, operations.ts or app.ts). Imports go one way because ${layers[layer]}. ` +
    `Take what you need as a parameter, or move the rule down to where both can see it.`,
  from: { path: `^src/${layer}/`, pathNot: '\.test\.ts$' },
  to: { path: [`^src/(${order.slice(at + 1).join('|')})/`, '^src/(app|operations)\.ts$'] },
}));

const NETWORK = '^(node:)?(net|tls|http|https|http2|dns|dgram)(/|$)';
const packages = (...names) => `(^|/)node_modules/(${names.join('|')})/`;

/** Parts of mail and of features that do what takes time: they may hold a World, wait, and ask other machines. */
const WORKERS =
  '^src/(mail/(accept|capture|compose|deliver|queue|queue-admin|receive|schedule|settle|domain-dns|tls-policies|tls-reports)/|' +
  'features/(ai/(ask-model|email-assistant|model-tasks)|identity/(approvals/review-call|account-mail/|sso-sign-in/)|' +
  'audience/import-runner/|automations/runner/|billing/(close-months|subscriptions)\\.ts|campaigns/sending/|' +
  'installation/(certificate-renewal|doctor|upkeep)/|inbox/composing/|rehearsal/(internet|late-reports|mx-session|name-server)\\.ts|tracking/|webhooks/delivery/))';

/**
 * A folder that is entered through its index.ts. A feature has two doors more: what works in the background and asks other
 * machines is in start.ts, the verbs of the API are in operations.ts.
 */
const module_ = 'src/(?:(?:protocol|platform|tenancy|mail|features|ports)/[^/]+|program-files|contract)';
const cyclic = '^src/(protocol|platform|tenancy|mail|features)/[^/]+$';

/** @type {import('dependency-cruiser').IConfiguration} */
module.exports = {
  forbidden: [
    ...layerRules,
    {
      name: 'ports-never-meet',
      severity: 'error',
      comment:
        'One port imports another. HTTP, SMTP and cron are separate ways to the same verbs; a port that leads through another ' +
        'inherits its limits and its errors. Move what both need to mail, tenancy or platform.',
      from: { path: '^src/ports/([^/]+)/' },
      to: { path: '^src/ports/', pathNot: '^src/ports/$1/' },
    },
    {
      name: 'only-ports-know-transports',
      severity: 'error',
      comment:
        'Something below the ports imports fastify or smtp-server. An operation takes a checked call and returns a value, so ' +
        'that every port and every test can call it. Headers, status codes and streams belong to src/ports/http, replies of SMTP to ' +
        'src/ports/smtp.',
      from: { path: '^src/', pathNot: '^src/ports/' },
      to: { path: [packages('fastify', '@fastify', 'smtp-server')] },
    },
    {
      name: 'protocol-is-pure',
      severity: 'error',
      comment:
        'src/protocol imports what reads a file, opens a connection or starts something. It is bytes and strings in, values out: of ' +
        'Node it takes hashing, URLs and what tells one kind of address from another. Take what was read as a parameter.',
      from: { path: '^src/protocol/', pathNot: '\.test\.ts$' },
      to: { path: '^(node:)?(fs|tls|http|https|http2|dns|dgram|child_process|worker_threads|cluster)(/|$)' },
    },
    {
      name: 'rules-see-no-network',
      severity: 'error',
      comment:
        'A rule or a store imports what leads to other machines: the resolver, HTTP, or a World, which holds both. Rules take the ' +
        'Store and finish when the database answers, so that no transaction and no list waits for another machine. Ask in a part ' +
        'that works in the background, and hand the rule what was answered.',
      from: {
        path: '^src/(tenancy|mail|features)/',
        pathNot: ['\.test\.ts$', '/operations\.ts$', WORKERS, '^src/mail/events/'],
      },
      to: {
        path: ['^src/platform/(world\.ts|resolver/|fetch/|api-call\.ts)', NETWORK, packages('undici', 'mailauth')],
      },
    },
    {
      name: 'few-parts-open-connections',
      severity: 'error',
      comment:
        'This opens connections of its own, and is neither the delivery, nor what is received (clamd, rspamd, mailauth), nor what ' +
        'publishes records: there, limits, turns and hostile peers are thought of. Ask through the World.',
      from: {
        path: '^src/(contract|tenancy|mail|features|ports/cron)/',
        pathNot: [
          '\.test\.ts$',
          '^src/mail/(deliver|receive|domain-dns/publish)/',
          // Its mail servers and its name server are on loopback alone.
          '^src/features/rehearsal/',
        ],
      },
      to: { path: [NETWORK, packages('undici', 'mailauth')] },
    },
    {
      name: 'only-bin-starts-the-app',
      severity: 'error',
      comment:
        'src/app.ts wires everything, so whatever imports it depends on everything. Only bin/ and the tests start the program; ' +
        'take the part you need from the index.ts of its module.',
      from: { path: '^(src|cli|console|migrations)/' },
      to: { path: '^src/app\.ts$' },
    },
    {
      name: 'operator-commands-load-no-server',
      severity: 'error',
      comment:
        'A command of the operator that needs only the Store loads the server with this, which takes longer than what it does. ' +
        'Take what you need from rules and stores, or move it to a file that imports no server.',
      from: {
        path: '^(src/(open-store|connect-stores)\.ts$|bin/commands/)',
        pathNot:
          '^bin/commands/(change-host|dev|examine-in-process|playground|seed|serve|simulate|sweep|test-relay)\.ts$',
      },
      to: {
        path: [
          WORKERS,
          '^src/features/[^/]+/(start|operations)\.ts$',
          '^src/ports/',
          '^src/(app|open-world|operations)\.ts$',
          '^bin/commands/(dev|serve)\.ts$',
        ],
      },
    },
    {
      name: 'modules-are-entered-through-index',
      severity: 'error',
      comment:
        'This reaches into a file of another module. index.ts is the way in: what it does not export may change at any time. ' +
        'Import the module’s index.ts, and export the name there if others may use it.',
      from: { path: `^(${module_}|bin|cli|console|src)/`, pathNot: '\.test\.tsx?$' },
      to: {
        path: `^${module_}/.+`,
        pathNot: [
          '^$1/(?!(contract|features|mail|platform|ports|program-files|protocol|tenancy)/)',
          `^${module_}/index\.ts$`,
          '^src/features/[^/]+/(start|operations)\.ts$',
        ],
      },
    },
    {
      name: 'no-cycles',
      severity: 'error',
      comment:
        'These files import each other in a circle (types count), so none can be read, tested or replaced alone. ' +
        'Move the shared part to a file that both import, or pass one as a parameter.',
      from: {},
      to: { circular: true },
    },
    {
      name: 'no-cycles-between-modules',
      severity: 'error',
      scope: 'folder',
      comment:
        'These modules import each other in a circle. Decide which one knows the other; ' +
        'the other gets what it needs as a parameter, or a third module holds what both need.',
      from: { path: cyclic },
      to: { circular: true, path: cyclic },
    },
    {
      name: 'sql-stays-in-stores',
      severity: 'error',
      comment:
        'knex or a database driver is imported outside src/platform/db and *.store.ts. Both databases behave alike because the ' +
        'SQL stands in few places. Write a function named by intent in the store of this module and call that.',
      from: { path: '^(src|bin|cli|console)/', pathNot: ['^src/platform/db/', '\.store\.ts$'] },
      to: { path: ['(^|/)node_modules/(knex|pg|better-sqlite3|sqlite3|@types/pg|@types/better-sqlite3)/'] },
    },
    {
      name: 'commands-do-not-import-node-http',
      severity: 'error',
      comment:
        'An import of node:http looks at all that it exports, its WebSocket among them, for which Node loads undici: a third of what a ' +
        "command costs. Take it by process.getBuiltinModule('node:http'); types may be imported.",
      from: { path: '^(bin|cli|console)/', pathNot: '\.test\.tsx?$' },
      to: { path: '^(node:)?http$', dependencyTypesNot: ['type-only'] },
    },
    {
      name: 'migrations-stand-alone',
      severity: 'error',
      comment:
        'A migration imports code of the program. It is never edited after its release and must do the same in every later version, ' +
        'which it cannot when the code under it moves. Write what it needs in the migration.',
      from: { path: '^migrations/' },
      to: { path: '^(src|cli|console|bin)/' },
    },
    {
      name: 'shipped-code-imports-no-tests',
      severity: 'error',
      comment:
        'Shipped code imports from test/, which is not installed in production. ' +
        'Move the part to src if the program needs it; if only a test needs it, the test belongs in test/ too.',
      from: { path: '^(src|bin|cli|console|migrations|packaging)/' },
      to: { path: '^test/' },
    },
    {
      name: 'clients-see-only-the-contract',
      severity: 'error',
      comment:
        'cli and console are clients of the HTTP API, often on another machine: of src they see the contract, where the program has its files, and nothing else. ' +
        'Call the API through cli/client.',
      from: { path: '^(cli|console)/' },
      to: { path: '^src/', pathNot: '^src/(contract|program-files)/' },
    },
    {
      name: 'server-knows-no-client',
      severity: 'error',
      comment: 'The server imports its own client. Call the verb of the module directly instead.',
      from: { path: '^(src|migrations)/' },
      to: { path: '^(cli|console|bin)/' },
    },
    {
      name: 'imports-resolve',
      severity: 'error',
      comment:
        'This import leads nowhere: a wrong path, or a package that package.json does not name. ' +
        'What cannot be resolved is not checked by any other rule here.',
      from: {},
      to: { couldNotResolve: true },
    },
    {
      name: 'no-development-packages-in-the-program',
      severity: 'error',
      comment:
        'The program imports a devDependency, which production does not install. Move it to dependencies, or the import to test/. ' +
        '(Only the generator of the contract types, which nothing imports, may use them.)',
      from: {
        path: '^(src|bin|cli|console|migrations)/',
        pathNot: ['\.test(-helper)?\.tsx?$', '^src/contract/(generate|render-types)\.ts$'],
      },
      to: { dependencyTypes: ['npm-dev'], dependencyTypesNot: ['type-only'], pathNot: '(^|/)node_modules/@types/' },
    },
  ],
  options: {
    doNotFollow: { path: '(^|/)node_modules/' },
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.json' },
    enhancedResolveOptions: {
      extensions: ['.ts', '.tsx', '.js', '.mjs', '.cjs', '.json'],
      exportsFields: ['exports'],
      conditionNames: ['import', 'node', 'default', 'types'],
      mainFields: ['module', 'main', 'types'],
    },
    combinedDependencies: false,
  },
};
