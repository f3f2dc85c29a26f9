// Over 400 lines because it is one table: every operation with the words that reach it.
import { Command } from 'commander';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { addClientCommands } from '../../cli/index.ts';
import {
  compileValidators,
  listOperations,
  loadContract,
  resolveRef,
  type OperationEntry,
} from '../../src/contract/index.ts';
import { startAnswering, type Reply } from './contract-server.ts';
import { Desk } from './desk.ts';
import { audienceLines, type Line } from './parity-audience.ts';

const ID = '019a9c1e-7d52-7c3a-9a54-0b8f4c1f2e77';
const OTHER = '019a9c1e-7d52-7c3a-9a54-0b8f4c1f2e78';
const HOOK = 'wh_019a9c1e7d527c3a9a540b8f4c1f2e01';
const HOOKED = 'msg_019a9c1e7d527c3a9a540b8f4c1f2e04';
const ATTEMPT = 'atmpt_019a9c1e7d527c3a9a540b8f4c1f2e09';
const paging = ['--limit', '5', '--after', ID, '--before', OTHER];
const tracking = ['--open-tracking', '--no-click-tracking', '--tracking-subdomain', 'links', '--tls', 'enforced'];
const settings = [...tracking, '--no-tls-verify', '--sending', 'enabled', '--receiving', 'disabled'];

const templateContent = [
  ...['--html', 'H', '--text', 'T', '--subject', 'S', '--from', 'a@example.com', '--reply-to', 'b@example.com'],
  ...['--alias', 'a-1', '--variable', 'A', '--variable', 'B=x=y:z', '--variable', 'C:number'],
  ...['--variable', 'D:number=2.5'],
];
const fromFiles = { '--html-file': 'html, from a file', '--text-file': 'text, from a file' };

const lines: Record<string, Line> = {
  sendEmail: {
    words: [
      ...['send', '--from', 'a@example.com', '--to', 'b@example.com', '--subject', 'S', '--text', 'T', '--html', 'H'],
      ...['--cc', 'c@example.com', '--bcc', 'd@example.com', '--reply-to', 'e@example.com', '--header', 'X-A: b'],
      ...['--tag', 'kind=receipt', '--attach', 'FILE;filename=f.txt;content_type=text/plain;content_id=cid'],
      ...['--scheduled-at', '2130-01-01T00:00:00Z', '--idempotency-key', 'once'],
      ...['--template', 'welcome', '--variable', 'NAME=a=b', '--variable', 'AGE:=7'],
    ],
    beside: {
      '--text-file': 'text, from a file',
      '--html-file': 'html, from a file',
      '--wait': 'asks getEmail',
      '--wait-seconds': 'asks getEmail',
    },
    body: {
      from: 'a@example.com',
      to: ['b@example.com'],
      subject: 'S',
      text: 'T',
      html: 'H',
      cc: ['c@example.com'],
      bcc: ['d@example.com'],
      reply_to: ['e@example.com'],
      headers: { 'X-A': 'b' },
      tags: [{ name: 'kind', value: 'receipt' }],
      attachments: [{ filename: 'f.txt', content: 'Y29udGVudA==', content_type: 'text/plain', content_id: 'cid' }],
      scheduled_at: '2130-01-01T00:00:00Z',
      template: { id: 'welcome', variables: { NAME: 'a=b', AGE: 7 } },
    },
    without: { topic_id: 'the contract reserves it for later' },
  },
  listEmails: {
    words: [
      ...['emails', 'list', ...paging, '--status', 'bounced', '--api-key-id', ID, '--search', 'x'],
      ...['--start-date', '2026-01-01', '--end-date', '2026-02-01'],
    ],
  },
  getEmail: { words: ['emails', 'get', ID] },
  sendBatch: {
    words: ['emails', 'batch', 'FILE', '--permissive', '--idempotency-key', 'once'],
    file: '[{"from":"a@example.com","to":"b@example.com","subject":"S","text":"T"}]',
    body: [{ from: 'a@example.com', to: 'b@example.com', subject: 'S', text: 'T' }],
  },
  listEmailEvents: { words: ['emails', 'events', ID, '--limit', '5', '--after', HOOKED, '--before', HOOKED] },
  listEmailAttempts: { words: ['emails', 'attempts', ID, ...paging] },
  updateEmail: { words: ['emails', 'reschedule', ID, '--scheduled-at', '2130-01-01T00:00:00Z'] },
  cancelEmail: { words: ['emails', 'cancel', ID] },
  createShare: { words: ['shares', 'create', ID, '--expires-in', '2 hours'] },
  listAudit: { words: ['audit', 'list', ...paging] },
  listOperatorAudit: { words: ['audit', 'all', ...paging] },
  getQueue: { words: ['queue', 'show'] },
  listQueuedDeliveries: {
    words: [
      ...['queue', 'list', ...paging, '--destination', 'example.org', '--team', ID, '--email', ID],
      ...['--state', 'retrying'],
    ],
  },
  listQueueHolds: { words: ['queue', 'holds', ...paging] },
  createQueueHold: {
    words: ['queue', 'hold', '--destination', 'example.org', '--team', ID, '--email', ID, '--reason', 'Moving'],
  },
  releaseQueueHold: { words: ['queue', 'release', ID] },
  retryQueue: { words: ['queue', 'retry', '--destination', 'example.org', '--team', ID, '--email', ID] },
  dropQueue: {
    words: ['queue', 'drop', '--destination', 'example.org', '--reason', 'Moving', '--yes'],
    beside: { '--team': 'in place of --destination', '--email': 'in place of --destination' },
    without: { team_id: 'one of three at a time', email_id: 'one of three at a time' },
  },
  revokeShares: { words: ['shares', 'revoke', ID] },
  listAttachments: {
    words: ['attachments', 'list', ID, '--limit', '5', '--after', 'att_1', '--before', 'att_2'],
  },
  getAttachment: { words: ['attachments', 'get', ID, 'att_1'] },
  listReceivedEmails: { words: ['received', 'list', ...paging] },
  getReceivedEmail: {
    words: ['received', 'get', ID],
    without: { html_format: 'the HTML is shown as it came or, with --json, as the API answers by itself' },
  },
  deleteReceivedEmail: { words: ['received', 'delete', ID, '--yes'] },
  listReceivedAttachments: {
    words: ['received', 'attachments', ID, '--limit', '5', '--after', 'att_1', '--before', 'att_2'],
  },
  getReceivedAttachment: { words: ['received', 'attachment', ID, 'att_1'] },
  createDomain: {
    words: ['domains', 'create', 'example.com', '--region', 'eu-west-1', '--custom-return-path', 'send', ...settings],
    beside: { '--zone': 'how to print the answer' },
  },
  listDomains: { words: ['domains', 'list', ...paging] },
  getDomain: { words: ['domains', 'get', ID], beside: { '--zone': 'how to print the answer' } },
  updateDomain: {
    words: ['domains', 'update', ID, ...settings, '--confirm-replace-mx'],
    body: {
      open_tracking: true,
      click_tracking: false,
      tracking_subdomain: 'links',
      tls: 'enforced',
      tls_verify: false,
      capabilities: { sending: 'enabled', receiving: 'disabled' },
      confirm_replace_mx: true,
    },
  },
  deleteDomain: { words: ['domains', 'delete', ID, '--yes'] },
  // The domain of the example is not verified.
  verifyDomain: { words: ['domains', 'verify', ID], exitCode: 1 },
  getDomainZone: { words: ['domains', 'zone', ID] },
  configureDomainDns: {
    words: ['domains', 'configure', ID, '--provider', 'office', '--dry-run', '--remove'],
    beside: { '--with-token': 'the API token, which is read where nobody sees it', '--yes': 'asks nobody' },
    body: { provider: 'office', dry_run: true, remove: true },
    without: { api_token: 'no flag, because other users of the machine see a command’s words' },
  },
  regenerateDkim: {
    words: ['domains', 'regenerate', ID, '--key-bits', '1024', '--yes'],
    beside: { '--zone': 'how to print the answer' },
  },
  rotateDkim: {
    words: ['domains', 'rotate', ID, '--no-wait'],
    beside: {
      '--zone': 'how to print the answer',
      '--wait-minutes': 'asks getDomain and verifyDomain',
    },
  },
  claimDomain: {
    words: ['domains', 'claim', 'example.com', '--region', 'eu-west-1', '--custom-return-path', 'send'],
    beside: { '--wait': 'asks verifyDomainClaim', '--wait-minutes': 'asks verifyDomainClaim' },
  },
  getDomainClaim: { words: ['domains', 'claim-status', ID] },
  verifyDomainClaim: { words: ['domains', 'claim-verify', ID] },
  createApiKey: { words: ['keys', 'create', 'N', '--permission', 'sending_access', '--domain', ID] },
  listApiKeys: {
    words: ['keys', 'list', ...paging, '--status', 'all', '--search', 'x', '--permission', 'full_access'],
  },
  updateApiKey: { words: ['keys', 'update', ID, '--name', 'N'] },
  deleteApiKey: { words: ['keys', 'revoke', ID, '--yes'] },
  createTemplate: {
    words: ['templates', 'create', 'N', ...templateContent],
    beside: fromFiles,
    body: {
      name: 'N',
      html: 'H',
      alias: 'a-1',
      from: 'a@example.com',
      subject: 'S',
      reply_to: ['b@example.com'],
      text: 'T',
      variables: [
        { key: 'A', type: 'string' },
        { key: 'B', type: 'string', fallback_value: 'x=y:z' },
        { key: 'C', type: 'number' },
        { key: 'D', type: 'number', fallback_value: 2.5 },
      ],
    },
  },
  listTemplates: { words: ['templates', 'list', ...paging] },
  getTemplate: { words: ['templates', 'get', 'a-1'] },
  updateTemplate: {
    words: ['templates', 'update', 'a-1', '--name', 'N', ...templateContent],
    beside: { ...fromFiles, '--clear': 'null in one of the fields' },
  },
  deleteTemplate: { words: ['templates', 'delete', 'a-1', '--yes'] },
  publishTemplate: { words: ['templates', 'publish', 'a-1'] },
  duplicateTemplate: { words: ['templates', 'duplicate', 'a-1'] },
  ...audienceLines,
  createSuppression: { words: ['suppressions', 'add', 'a@example.com'] },
  addSuppressions: { words: ['suppressions', 'add', 'a@example.com', 'b@example.com'] },
  listSuppressions: {
    words: ['suppressions', 'list', '--limit', '5', '--after', 'sup_1', '--before', 'sup_2', '--origin', 'bounce'],
  },
  getSuppression: { words: ['suppressions', 'get', 'a@example.com'] },
  deleteSuppression: { words: ['suppressions', 'remove', 'sup_1', '--yes'] },
  removeSuppressions: {
    words: ['suppressions', 'remove', 'a@example.com', 'b@example.com', '--yes'],
    without: { ids: 'set by naming ids instead; the contract takes one of the two' },
  },
  createWebhook: {
    words: ['webhooks', 'create', 'https://example.com/hooks', '--events', 'email.sent,email.bounced'],
    body: { endpoint: 'https://example.com/hooks', events: ['email.sent', 'email.bounced'] },
  },
  listWebhooks: { words: ['webhooks', 'list', '--limit', '5', '--after', HOOK, '--before', HOOK] },
  getWebhook: { words: ['webhooks', 'get', HOOK] },
  updateWebhook: {
    words: [
      ...['webhooks', 'update', HOOK, '--endpoint', 'https://example.com/hooks', '--events', 'email.sent'],
      ...['--status', 'disabled'],
    ],
    body: { endpoint: 'https://example.com/hooks', events: ['email.sent'], status: 'disabled' },
  },
  deleteWebhook: { words: ['webhooks', 'delete', HOOK, '--yes'] },
  rotateWebhookSecret: { words: ['webhooks', 'rotate-secret', HOOK] },
  triggerWebhook: { words: ['webhooks', 'trigger', 'email.bounced', '--endpoint', HOOK] },
  listWebhookEvents: {
    words: [
      ...['webhooks', 'events', HOOK, '--limit', '5', '--after', HOOKED, '--before', HOOKED, '--status', 'failed'],
      ...['--type', 'email.sent', '--start-date', '2026-01-01T00:00:00Z', '--end-date', '2026-02-01T00:00:00Z'],
    ],
  },
  getWebhookEvent: { words: ['webhooks', 'event', HOOK, HOOKED] },
  listWebhookAttempts: {
    words: ['webhooks', 'attempts', HOOK, HOOKED, '--limit', '5', '--after', ATTEMPT, '--before', ATTEMPT],
  },
  replayWebhookEvent: {
    words: ['webhooks', 'replay', HOOK, HOOKED],
    beside: {
      '--failed': 'replays many, one after the other',
      '--parked': 'replays many, one after the other',
      '--since': 'goes with --failed',
      '--webhook': 'goes with --failed',
      '--dry-run': 'goes with --failed',
    },
  },
  listParkedWebhookEvents: {
    words: ['webhooks', 'parked', HOOK, '--limit', '5', '--after', HOOKED, '--start-date', '2026-11-01T00:00:00Z'],
  },
  getTeam: { words: ['team', 'get'] },
  updateTeam: {
    words: [
      ...['team', 'update', '--sender-name', 'S', '--line1', 'A', '--line2', 'B', '--city', 'C', '--state', 'D'],
      ...['--postal-code', 'E', '--country', 'DE', '--no-ai-assist'],
    ],
    body: {
      sender_name: 'S',
      postal_address: { line1: 'A', line2: 'B', city: 'C', state: 'D', postal_code: 'E', country: 'DE' },
      ai_assist_enabled: false,
    },
  },
  getUsage: { words: ['usage'] },
  getEmailMetrics: {
    words: [
      ...['metrics', '--start-date', '2026-01-01', '--end-date', '2026-02-01', '--timezone', 'Europe/Berlin'],
      ...['--granularity', 'weekly', '--metrics', 'sent', '--dimensions', 'period', '--domain-id', ID],
      ...['--email-id', ID, '--broadcast-id', ID],
    ],
  },
  listLogs: {
    words: ['logs', 'list', ...paging, '--status', '422', '--start-date', '2026-01-01', '--end-date', '2026-02-01'],
  },
  getLog: { words: ['logs', 'get', ID] },
  getHealth: { words: ['health'] },
  getReady: { words: ['ready'] },
};

/** Operations without a command, and why. */
const commandless: Record<string, string> = {
  downloadAttachment: 'a link that attachments get shows, and attachments download follows',
  downloadReceivedAttachment: 'a link that received attachment shows, and received download follows',
  downloadReceivedRaw: 'a link that received raw follows',
  getOpenapiJson: 'a document for tools, which fetch it themselves',
  getOpenapiYaml: 'a document for tools, which fetch it themselves',
  getDocs: 'a page for a browser',
  getDocsScript: 'the script of that page',
  getSharePage: 'a page for a browser',
  createContactImport: 'a form with a file; contacts import has its own tests',
  exportContacts: 'a file; contacts export has its own tests',
  createAudienceContact: 'the former name of contacts create --segment',
  listAudienceContacts: 'the former name of segments contacts',
  getAudienceContact: 'the former name of contacts get',
  updateAudienceContact: 'the former name of contacts update',
  deleteAudienceContact: 'the former name of contacts delete',
  rotateWebhookSigningSecret: 'webhooks rotate-secret does the same',
  listenWebhooks: 'a stream without an end; webhooks listen has its own tests',
};

const contract = loadContract();
const validators = await compileValidators(contract);
const entries = listOperations(contract).filter(({ operationId }) => !(operationId in commandless));
const common = ['--json', '--url', '--api-key', '--profile', '--data'];
/** How a list or an item is shown, and how much of it; `test/cli/lists.test.ts` tries each. */
const showing = ['--all', '--fields', '--since', '--wide'];

describe('the command line and the contract', () => {
  it('every operation has a command or a reason, and nothing else has one', () => {
    const named = [...Object.keys(lines), ...Object.keys(commandless)].sort();
    expect(named).toEqual(
      listOperations(contract)
        .map((entry) => entry.operationId)
        .sort(),
    );
  });

  it.each(entries.map((entry) => [entry.operationId, entry] as const))('%s: every flag is tried here', (id) => {
    const { words, beside = {} } = lines[id] ?? { words: [] };
    const flags = commandOf(words)
      .options.map((option) => option.long?.replace(/^--no-/, '--') ?? '')
      .filter((flag) => flag in beside || !showing.includes(flag));
    const tried = words.filter((word) => word.startsWith('--')).map((word) => word.replace(/^--no-/, '--'));
    expect([...new Set(flags)].sort()).toEqual([...new Set([...common, ...Object.keys(beside), ...tried])].sort());
  });

  describe('on the wire', () => {
    let desk: Desk;
    beforeEach(() => {
      desk = new Desk();
      vi.spyOn(process.stdout, 'write').mockReturnValue(true);
    });
    afterEach(async () => {
      vi.restoreAllMocks();
      vi.unstubAllEnvs();
      await desk.clear();
    });

    it.each(entries.map((entry) => [entry.operationId, entry] as const))(
      '%s: every field arrives',
      async (id, entry) => {
        const { words, body, without = {}, file: content = 'content', exitCode } = lines[id] ?? { words: [] };
        const server = await startAnswering(({ method, path }) => exampleOf(method, path));
        vi.stubEnv('RASKET_URL', server.url);
        vi.stubEnv('RASKET_API_KEY', 'rk_test');
        const file = desk.write('attached', content);
        await program().parseAsync(['node', 'rasket', ...words.map((word) => word.replace(/^FILE/, file))]);
        expect(process.exitCode).toBe(exitCode);
        process.exitCode = undefined;
        const asked = server.asked.find((call) => isCallOf(entry, call.method, call.path));
        server.close();
        if (!asked) throw new Error(`${words.join(' ')} never called ${id}`);
        expect(asked.headers['user-agent']).toBe('rasket-cli/9.9.9');
        expect(asked.headers.authorization).toBe('Bearer rk_test');
        const sent = { ...asked.query, ...Object.fromEntries(fieldsOf(asked.body)) };
        const headers = entry.parameters.filter(
          ({ in: place, name }) => place === 'header' && name.toLowerCase() in asked.headers,
        );
        expect([...Object.keys(sent), ...headers.map(({ name }) => name), ...Object.keys(without)].sort()).toEqual(
          fieldsOfContract(entry).sort(),
        );
        if (body) expect(asked.body).toEqual(body);
        const operation = validators.operations.get(id);
        expect(operation?.checkBody?.(asked.body)).toBeUndefined();
        const parameters = { path: {}, query: { ...asked.query }, header: asked.headers };
        const problems = operation?.checkParameters(parameters) ?? [];
        expect(problems.filter((problem) => !entry.path.includes(`{${String(problem.path)}}`))).toEqual([]);
      },
    );
  });

  it('an attachment and the capabilities of a domain are complete too', () => {
    const schemas = contract.components.schemas;
    expect(Object.keys(schemas.SendEmailAttachment?.properties ?? {}).sort()).toEqual([
      'content',
      'content_id',
      'content_type',
      'filename',
      'path',
    ]);
    expect(Object.keys(schemas.DomainCapabilitiesRequest?.properties ?? {}).sort()).toEqual(['receiving', 'sending']);
  });
});

function program(): Command {
  const made = new Command('rasket').version('9.9.9').exitOverride();
  addClientCommands(made);
  return made;
}

function commandOf(words: string[]): Command {
  let command = program();
  for (const word of words) {
    const next = command.commands.find((other) => other.name() === word);
    if (!next) break;
    command = next;
  }
  return command;
}

const isCallOf = (entry: OperationEntry, method: string, path: string): boolean =>
  entry.method === method.toLowerCase() && new RegExp(`^${entry.path.replaceAll(/\{\w+\}/g, '[^/]+')}$`).test(path);

function exampleOf(method: string, path: string): Reply {
  // A fixed path goes before one with a parameter: /suppressions/batch/add is no suppression.
  const entry = entries
    .filter((other) => isCallOf(other, method, path))
    .sort((a, b) => a.path.split('{').length - b.path.split('{').length)[0];
  const [status = '', response] = Object.entries(entry?.operation.responses ?? {})[0] ?? [];
  const content = response ? resolveRef(contract, response).content : undefined;
  const plain = content?.['text/plain'];
  if (plain) return { status: Number(status), body: plain.example, headers: { 'content-type': 'text/plain' } };
  return { status: Number(status), body: content?.['application/json']?.example };
}

/** The entries of a list are operations of their own. */
const fieldsOf = (body: unknown): [string, unknown][] =>
  Array.isArray(body) ? [] : Object.entries((body ?? {}) as object);

function fieldsOfContract(entry: OperationEntry): string[] {
  const parameters = entry.parameters.filter((parameter) => parameter.in !== 'path').map((parameter) => parameter.name);
  const schema = entry.operation.requestBody?.content['application/json']?.schema;
  return [...parameters, ...Object.keys((schema && resolveRef(contract, schema).properties) ?? {})];
}
