// The import directions of the architecture, enforced. Each rule says what is wrong, why, and what to do instead.
// `test/tidy/guards.test.ts` plants one violation per rule and sees it found; a new rule needs its plant there.

const layers = {
  'program-files': 'it knows where the program has its files and nothing else, so that everything can ask it',
  contract: 'it is the API as text, and everything else may rest on it',
  protocol: 'it is pure: bytes and strings in, values out, so that its rules are tested without a world',
  platform:
    'it touches the world and knows no mail, so that a resolver or a database can be replaced without reading mail rules',
  events: 'it records what happened and must not depend on who makes it happen',
  resources:
    'it holds rules that finish inside one transaction; what takes time belongs to flow, which calls resources',
  flow: 'mail takes the same path whichever port it came through',
  operations: 'they are the verbs of the API, which every door calls alike',
};
const ports = ['http', 'smtp', 'cron'];
const order = Object.keys(layers);

const layerRules = order.map((layer, at) => {
  const above = [...order.slice(at + 1), ...ports];
  return {
    name: `${layer}-imports-nothing-above-it`,
    severity: 'error',
    comment:
      `src/${layer} imports something that stands above it (${above.join(', ')} or app.ts). Imports go one way because ${layers[layer]}. ` +
      `Take what you need as a parameter, or move the rule down to where both can see it.`,
    from: { path: `^src/${layer}/` },
    to: { path: [`^src/(${above.join('|')})/`, '^src/app\\.ts$'] },
  };
});

const NETWORK = '^(node:)?(net|tls|http|https|http2|dns|dgram)(/|$)';
const packages = (...names) => `(^|/)node_modules/(${names.join('|')})/`;

// These folders are one module each; inside the others every folder is a module of its own.
/** A folder with a door. The stages of mail stand together in src/flow/mail, which has none. */
const folder = 'src/(?:flow/mail/[^/]+|(?!flow/mail/)[^/]+/[^/]+)';
const cyclic = '^src/(protocol|platform|resources|flow|flow/mail)/[^/]+$';
const wholeModules = `(program-files|contract|events|operations|${ports.join('|')})`;

/** @type {import('dependency-cruiser').IConfiguration} */
module.exports = {
  forbidden: [
    ...layerRules,
    {
      name: 'ports-never-meet',
      severity: 'error',
      comment:
        'One port imports another. HTTP, SMTP and cron are separate doors to the same verbs; a door that leads through another ' +
        'inherits its limits and its errors. Move what both need to flow, resources or platform.',
      from: { path: `^src/(${ports.join('|')})/` },
      to: { path: `^src/(${ports.join('|')})/`, pathNot: '^src/$1/' },
    },
    {
      name: 'operations-know-no-transport',
      severity: 'error',
      comment:
        'An operation, or something below it, imports fastify or smtp-server. Operations take a checked call and answer a value, so ' +
        'that every door and every test can call them. Headers, status codes and streams belong to src/http, replies of SMTP to ' +
        'src/smtp; an answer with another status is an Answered.',
      from: { path: `^src/(${order.join('|')})/` },
      to: { path: [packages('fastify', '@fastify', 'smtp-server')] },
    },
    {
      name: 'protocol-is-pure',
      severity: 'error',
      comment:
        'src/protocol imports what reads a file, opens a connection or starts something. It is bytes and strings in, values out: of ' +
        'Node it takes hashing, URLs and what tells one kind of address from another. Take what was read as a parameter; ask for it in ' +
        'src/platform or src/flow.',
      from: { path: '^src/protocol/', pathNot: '\\.test\\.ts$' },
      to: { path: '^(node:)?(fs|tls|http|https|http2|dns|dgram|child_process|worker_threads|cluster)(/|$)' },
    },
    {
      name: 'resources-see-no-network',
      severity: 'error',
      comment:
        'A resource imports what leads to other machines: the resolver, HTTP, or a World, which holds both. Resources take the Store and ' +
        'finish when the database answers, so that no transaction, no list and no rule waits for a stranger. Ask in a verb of ' +
        'src/flow and hand the resource what was answered.',
      from: { path: '^src/resources/' },
      to: {
        path: [
          ...['^src/platform/(world|resolver|fetch|api-call)/', NETWORK],
          packages('undici', 'mailauth', 'smtp-server'),
        ],
      },
    },
    {
      name: 'few-stages-open-connections',
      severity: 'error',
      comment:
        'This opens connections of its own, and is neither the delivery, nor what is received (clamd, rspamd, mailauth), nor what ' +
        'publishes records: there, limits, turns and what a stranger may do to a connection are thought of. Ask through the World, ' +
        'or move the exchange to one of these.',
      from: {
        path: '^src/(contract|events|flow|operations|cron)/',
        pathNot: ['\\.test\\.ts$', '^src/flow/(mail/(deliver|receive)|dns/publish)/'],
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
      to: { path: '^src/app\\.ts$' },
    },
    {
      name: 'operator-commands-load-no-server',
      severity: 'error',
      comment:
        'A command of the operator that needs only the Store loads the server with this, which takes longer than what it does. ' +
        'Take what you need from resources, or move it to a file that imports no server.',
      from: {
        path: '^(src/open-store\\.ts$|bin/commands/)',
        pathNot: '^bin/commands/(dev|look-outside|playground|seed|serve|sweep|test-relay)\\.ts$',
      },
      to: { path: '^(src/((flow|operations|http|smtp|cron)/|(app|open-world)\\.ts$)|bin/commands/(dev|serve)\\.ts$)' },
    },
    {
      name: 'modules-are-entered-through-index',
      severity: 'error',
      comment:
        'This reaches into a file of another module. index.ts is the door: what it does not export may change at any time. ' +
        'Import the module’s index.ts, and export the name there if it belongs to the promise.',
      from: { path: `^(${folder})/` },
      to: { path: `^${folder}/.+`, pathNot: ['^$1/', `^${folder}/index\\.ts$`, `^src/${wholeModules}/`] },
    },
    {
      name: 'modules-are-entered-through-index-from-outside',
      severity: 'error',
      comment:
        'This reaches into a file of a module from outside its layer’s folders. index.ts is the door: what it does not export may ' +
        'change at any time. Import the module’s index.ts, and export the name there if it belongs to the promise.',
      from: { path: '^(src|bin|cli|console)/', pathNot: `^${folder}/` },
      to: { path: `^${folder}/.+`, pathNot: [`^${folder}/index\\.ts$`, `^src/${wholeModules}/`] },
    },
    {
      name: 'whole-folders-are-entered-through-index',
      severity: 'error',
      comment:
        'contract, events and each port are one module: from outside, only their index.ts is imported. ' +
        'Export the name there if it belongs to the promise.',
      from: { path: '^(src|bin|cli|console)/([^/]+)/' },
      to: { path: `^src/${wholeModules}/.+`, pathNot: ['^src/$2/', `^src/${wholeModules}/index\\.ts$`] },
    },
    {
      name: 'whole-folders-are-entered-through-index-from-outside',
      severity: 'error',
      comment:
        'contract, events and each port are one module: src/app.ts and bin/ import only their index.ts. ' +
        'Export the name there if it belongs to the promise.',
      from: { path: '^(src|bin|cli|console)/[^/]+$' },
      to: { path: `^src/${wholeModules}/.+`, pathNot: `^src/${wholeModules}/index\\.ts$` },
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
      from: { path: '^(src|bin|cli|console)/', pathNot: ['^src/platform/db/', '\\.store\\.ts$'] },
      to: { path: ['(^|/)node_modules/(knex|pg|better-sqlite3|sqlite3|@types/pg|@types/better-sqlite3)/'] },
    },
    {
      name: 'commands-do-not-import-node-http',
      severity: 'error',
      comment:
        'An import of node:http looks at all that it exports, its WebSocket among them, for which Node loads undici: a third of what a ' +
        'command costs. ' +
        "Take it by process.getBuiltinModule('node:http'); types may be imported.",
      from: { path: '^(bin|cli|console)/', pathNot: '\\.test\\.tsx?$' },
      to: { path: '^(node:)?http$', dependencyTypesNot: ['type-only'] },
    },
    {
      name: 'migrations-stand-alone',
      severity: 'error',
      comment:
        'A migration imports code of the program. It is never edited after its release and must do the same in every later version, ' +
        'which it cannot when the code under it moves. Write what it needs in the migration (or beside it).',
      from: { path: '^migrations/' },
      to: {
        path: '^(src|cli|console|bin)/',
        pathNot: '^src/platform/db/index\\.ts$',
        dependencyTypesNot: ['type-only'],
      },
    },
    {
      name: 'nothing-imports-tests',
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
      name: 'console-takes-no-command-of-the-cli',
      severity: 'error',
      comment:
        'The console imports a command of the cli, or reaches past an index.ts. They share the typed client, what the families say ' +
        'of themselves, how what is typed is read and how answers are put into words; move what both need to cli/client, cli/families, ' +
        'cli/input or cli/output.',
      from: { path: '^console/' },
      to: { path: '^cli/', pathNot: '^cli/(client|families|input|output)/index\\.ts$' },
    },
    {
      name: 'server-knows-no-client',
      severity: 'error',
      comment: 'The server imports its own client. Call the verb of the resource or flow module directly instead.',
      from: { path: '^(src|migrations)/' },
      to: { path: '^(cli|console|bin)/' },
    },
    {
      name: 'console-is-entered-through-main',
      severity: 'error',
      comment:
        'The cli reaches into the console. It may start it (console/main.tsx, imported when asked for) and nothing more.',
      from: { path: '^cli/' },
      to: { path: '^console/', pathNot: '^console/main\\.tsx$' },
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
        pathNot: ['\\.test\\.tsx?$', '^src/contract/(generate|render-types)\\.ts$'],
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
