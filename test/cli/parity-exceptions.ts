import type { Exception } from './derived-line.ts';

const ID = '019a9c1e-7d52-7c3a-9a54-0b8f4c1f2e77';
const two = { words: ['a@example.com', 'b@example.com'], sent: ['a@example.com', 'b@example.com'] };

const properties = {
  words: ['--property', 'plan=pro', '--property', 'seats:=3'],
  sent: { plan: 'pro', seats: 3 },
};
const topics = { words: ['--topic', `${ID}=opt_in`], sent: [{ id: ID, subscription: 'opt_in' }] };
const filter = {
  words: ['--filter', '{"all":[{"field":"unsubscribed","op":"eq","value":false}]}'],
  sent: { all: [{ field: 'unsubscribed', op: 'eq', value: false }] },
};
const schema = { words: ['--schema', '{"total":"number"}'], sent: { total: 'number' } };
const graph = {
  steps: { words: ['--steps', '[{"key":"start"}]'], sent: [{ key: 'start' }] },
  connections: { words: ['--connections', '[]'], sent: [] },
};
const variables = {
  words: ['A', 'B=x=y:z', 'C:number', 'D:number=2.5'].flatMap((variable) => ['--variable', variable]),
  sent: [
    { key: 'A', type: 'string' },
    { key: 'B', type: 'string', fallback_value: 'x=y:z' },
    { key: 'C', type: 'number' },
    { key: 'D', type: 'number', fallback_value: 2.5 },
  ],
};
const zone = { '--zone': 'how to print the answer' };

const answerOnce = { 'Idempotency-Key': { words: ['--idempotency-key', 'once'], sent: 'once' } };
const inboxMail = {
  headers: { words: ['--header', 'X-A: b'], sent: { 'X-A': 'b' } },
  attachments: {
    words: ['--attach', 'FILE;filename=f.txt;content_type=text/plain'],
    sent: [{ filename: 'f.txt', content: 'Y29udGVudA==', content_type: 'text/plain' }],
  },
};
const draftOf = {
  thread_id: { words: ['--thread', ID], sent: ID },
  reply_to_email_id: { words: ['--answers', ID], sent: ID },
};

/** What cannot be derived from the contract and the commands: syntax of an option's own, choices between fields, and why. */
const ownTeam = { team_id: 'the team that the session works in' };

export const exceptions: Record<string, Exception> = {
  // The example has a check that fails, so that the answer is no.
  getBroadcastChecklist: { exitCode: 1 },
  runBroadcastChecks: { exitCode: 1 },
  sendEmail: {
    given: {
      headers: { words: ['--header', 'X-A: b'], sent: { 'X-A': 'b' } },
      tags: { words: ['--tag', 'kind=receipt'], sent: [{ name: 'kind', value: 'receipt' }] },
      attachments: {
        words: ['--attach', 'FILE;filename=f.txt;content_type=text/plain;content_id=cid'],
        sent: [{ filename: 'f.txt', content: 'Y29udGVudA==', content_type: 'text/plain', content_id: 'cid' }],
      },
      template: {
        words: ['--template', 'welcome', '--variable', 'NAME=a=b', '--variable', 'AGE:=7'],
        sent: { id: 'welcome', variables: { NAME: 'a=b', AGE: 7 } },
      },
      'Idempotency-Key': { words: ['--idempotency-key', 'once'], sent: 'once' },
      scheduled_at: { words: ['--scheduled-at', '2130-01-01T00:00:00Z'], sent: '2130-01-01T00:00:00Z' },
    },
    without: { topic_id: 'the contract reserves it for later' },
    beside: { '--wait': 'asks getEmail', '--wait-seconds': 'asks getEmail' },
  },
  listSegments: { given: { include: { words: ['--include', 'counts'], sent: 'counts' } } },
  createBroadcast: {
    without: {
      audience_id: 'segment_id says it',
      'Idempotency-Key': 'a person who gets no answer sees in the list whether it was made',
    },
  },
  updateBroadcast: { without: { audience_id: 'segment_id says it' }, beside: { '--clear': 'null' } },
  sendBroadcast: { beside: { '--watch': 'asks getBroadcast' } },
  previewBroadcast: { beside: { '--open': 'shows the answer in a browser' } },
  replyToInboxEmail: { given: { ...answerOnce, ...inboxMail, reply_all: { words: ['--reply-all'], sent: true } } },
  forwardInboxEmail: { given: { ...answerOnce, ...inboxMail }, beside: { '--edit': 'opens an editor for the text' } },
  createInboxDraft: {
    given: { ...draftOf, attachments: inboxMail.attachments },
    without: { 'Idempotency-Key': 'a second draft is seen, and harms nobody' },
  },
  updateInboxDraft: { given: { attachments: inboxMail.attachments }, beside: { '--clear': 'null' } },
  sendInboxDraft: {
    given: { headers: inboxMail.headers },
    without: { 'Idempotency-Key': 'a draft is sent once, whatever the key' },
  },
  updateInboxLabel: { given: { color: { words: ['--color', '#00A2C7'], sent: '#00A2C7' } } },
  updateInbox: { beside: { '--clear': 'null' } },
  getInvoice: {
    beside: {
      '--csv': 'the answer of getInvoiceCsv instead',
      '--print': 'the answer of getInvoicePage instead',
      '--output': 'where either is written to',
      '--force': 'over a file that is there',
    },
  },
  updateInboxAgent: { beside: { '--clear': 'null' } },
  updateInboxThread: {
    given: { snoozed_until: { words: ['--snooze', '2130-01-01T00:00:00Z'], sent: '2130-01-01T00:00:00.000Z' } },
    beside: { '--clear': 'null' },
  },
  sendBatch: {
    given: {
      'Idempotency-Key': { words: ['--idempotency-key', 'once'], sent: 'once' },
      'x-batch-validation': { words: ['--permissive'], sent: 'permissive' },
    },
    // The body is a list of emails, which stands in the file.
    more: ['FILE'],
  },
  getReceivedEmail: {
    without: { html_format: 'the HTML is shown as it came or, with --json, as the API answers by itself' },
  },
  createDomain: { beside: zone },
  getQueuedEmail: { beside: { '--transcript': 'how much of the answer to print' } },
  getDomain: { beside: zone },
  // The domain of the example is not verified.
  verifyDomain: { exitCode: 1 },
  regenerateDkim: { given: { key_bits: { words: ['--key-bits', '1024'], sent: 1024 } }, beside: zone },
  rotateDkim: { more: ['--no-wait'], beside: { ...zone, '--wait-minutes': 'asks getDomain and verifyDomain' } },
  configureDomainDns: {
    without: { api_token: 'no option, because other users of the machine see a command’s words' },
    beside: { '--with-token': 'the API token, which is read where nobody sees it' },
  },
  claimDomain: { beside: { '--wait': 'asks verifyDomainClaim', '--wait-minutes': 'asks verifyDomainClaim' } },
  createTemplate: { given: { variables } },
  updateTemplate: { given: { variables }, beside: { '--clear': 'null in one of the fields' } },
  createContact: {
    given: { properties, topics, last_name: { words: ['--last-name', ''], sent: null } },
  },
  updateContact: {
    given: {
      properties: {
        words: ['--property', 'plan=pro', '--clear-property', 'seats'],
        sent: { plan: 'pro', seats: null },
      },
    },
  },
  updateContactTopics: { given: { topics } },
  getContactImportFailures: { command: 'contacts import-failures' },
  createContactProperty: {
    given: {
      type: { words: ['--type', 'number'], sent: 'number' },
      fallback_value: { words: ['--fallback', '2.5'], sent: 2.5 },
    },
  },
  updateContactProperty: { beside: { '--clear-fallback': 'null in the field' } },
  createEvent: { given: { schema } },
  updateEvent: { given: { schema }, beside: { '--clear-schema': 'null in the field' } },
  sendEvent: {
    given: { payload: { words: ['--payload', '{"total": 40}'], sent: { total: 40 } } },
    beside: { '--file': 'sends many, one a line', '--from-line': 'where --file begins' },
  },
  createAutomation: { given: graph },
  updateAutomation: { given: graph },
  listAutomationRuns: { beside: { '--watch': 'asks again and again', '--until-done': 'when --watch ends' } },
  createSegment: { given: { filter }, beside: { '--where': 'says the filter in words' } },
  previewSegment: { given: { filter }, beside: { '--where': 'says the filter in words' } },
  addSuppressions: { given: { emails: two } },
  removeSuppressions: {
    command: 'suppressions remove',
    given: { emails: two },
    without: { ids: 'set by naming ids instead; the contract takes one of the two' },
  },
  updateInboundRule: {
    given: {
      action: { words: ['--action', 'forward'], sent: 'forward' },
      forward_to: { words: ['--forward-to', ...two.words], sent: two.sent },
    },
  },
  createWebhook: {
    given: { events: { words: ['--events', 'email.sent,email.bounced'], sent: ['email.sent', 'email.bounced'] } },
  },
  replayWebhookEvent: {
    beside: Object.fromEntries(
      ['--failed', '--parked', '--webhook', '--dry-run'].map((flag) => [flag, 'replays many, one after the other']),
    ),
  },
  dropQueue: {
    without: { team_id: 'one of three at a time', email_id: 'one of three at a time' },
    beside: { '--team': 'in place of --destination', '--email': 'in place of --destination' },
  },
  limitOauthGrant: { beside: { '--clear': 'sets emails_per_day or expires_at to null' } },
  updateTeamMember: { without: ownTeam },
  unlinkTeamMember: { without: ownTeam },
  getSso: { without: ownTeam },
  putSso: {
    without: { ...ownTeam, client_secret: 'no option, because other users of the machine see a command’s words' },
    beside: { '--client-secret-file': 'the secret, from where nobody sees it' },
  },
  deleteSso: { without: ownTeam },
  addSsoDomain: { without: ownTeam },
  removeSsoDomain: { without: ownTeam },
  verifySsoDomain: { without: ownTeam, exitCode: 1 },
  removeTeamMember: { without: ownTeam },
  listInvitations: { without: ownTeam },
  createInvitation: { without: ownTeam },
  revokeInvitation: { without: ownTeam },
  getEmailMetrics: { command: 'metrics' },
  getUsage: { command: 'usage' },
  getReady: { command: 'ready' },
};

const ofPeople = 'of the account of a person, who looks after it in a browser';
const ofApps = 'a step of OAuth, which apps of others take; what they were let in to do is oauth-grants';

/** Operations without a command, and why. */
export const commandless: Record<string, string> = {
  downloadAttachment: 'a link that attachments get shows, and attachments download follows',
  downloadReceivedAttachment: 'a link that received attachment shows, and received download follows',
  downloadReceivedRaw: 'a link that received raw follows',
  getOpenapiJson: 'a document for tools, which fetch it themselves',
  getOpenapiYaml: 'a document for tools, which fetch it themselves',
  getDocs: 'a page for a browser',
  getDocsScript: 'the script of that page',
  getSharePage: 'a page for a browser',
  createContactImport: 'a form with a file; contacts import has its own tests',
  createImage: 'a file as it is; images upload has its own tests',
  getInvoicePage: 'what billing invoice --print writes; it has its own test',
  receivePaymentEvent: 'the payment provider calls it, and signs what it says',
  getInvoiceCsv: 'what billing invoice --csv writes; it has its own test',
  exportContacts: 'a file; contacts export has its own tests',
  createAudienceContact: 'the former name of contacts create --segment',
  listAudienceContacts: 'the former name of segments contacts',
  getAudienceContact: 'the former name of contacts get',
  updateAudienceContact: 'the former name of contacts update',
  deleteAudienceContact: 'the former name of contacts delete',
  rotateWebhookSigningSecret: 'webhooks rotate-secret does the same',
  logIn: 'a part of login --password and of account mfa, which are more than one call and have their own tests',
  logOut: 'logout, which forgets the token as well, has its own tests',
  getSession: 'a part of whoami, and of every route of the own team',
  beginDeviceLogin: 'login, which is more than one call, has its own tests',
  pollDeviceLogin: 'a part of login',
  getDeviceLogin: 'a person looks at a program in a browser',
  approveDeviceLogin: 'a part of login --password; a program cannot approve another one',
  denyDeviceLogin: 'as approveDeviceLogin',
  listTeamMembers: 'members list, which a key reaches too',
  getTeamMember: 'members list shows all of a member',
  getMfa: 'account mfa, which has its own tests',
  enrolMfa: 'a part of account mfa, which signs its person in first and has its own tests',
  confirmMfa: 'a part of account mfa, which signs its person in first and has its own tests',
  disableMfa: 'a part of account mfa, which signs its person in first and has its own tests',
  replaceRecoveryCodes: 'a part of account mfa, which signs its person in first and has its own tests',
  verifyMfa: 'as logIn',
  recoverMfa: 'as logIn',
  signUp: 'whoever asks has no account yet; its mail leads to a page',
  verifyEmail: 'of the link in a mail, which leads to a page',
  requestPasswordReset: 'whoever asks is not signed in; the operator has rasket users reset',
  confirmPasswordReset: 'of the link in a mail, which leads to a page',
  changePassword: ofPeople,
  signUpByInvitation: 'of the link in a mail, which leads to a page',
  getAuthorizationServer: ofApps,
  getProtectedResource: ofApps,
  getMcpResource: ofApps,
  registerClient: ofApps,
  getClient: ofApps,
  replaceClient: ofApps,
  deleteClient: ofApps,
  authorizeClient: ofApps,
  exchangeToken: ofApps,
  revokeToken: ofApps,
  listPlaygroundMessages: 'playground and playground wait, which have their own tests',
  clearPlaygroundMessages: 'playground clear, which works on the data folder and has its own test',
  callMcp: 'for AI assistants, which call the other operations through it',
  listenWebhooks: 'a stream without an end; webhooks listen has its own tests',
};
