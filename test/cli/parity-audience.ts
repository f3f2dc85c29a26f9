const ID = '019a9c1e-7d52-7c3a-9a54-0b8f4c1f2e77';
const OTHER = '019a9c1e-7d52-7c3a-9a54-0b8f4c1f2e78';
const paging = ['--limit', '5', '--after', ID, '--before', OTHER];

export interface Line {
  /** The command with every flag that has a field of the operation. */
  words: string[];
  /** Flags that stand for no field of their own, and why. */
  beside?: Record<string, string>;
  /** The body as it must arrive, where a field has parts of its own. */
  body?: object;
  /** Fields that no flag sets, and why. */
  without?: Record<string, string>;
  /** Where the answer of the example is not the one that was hoped for. */
  exitCode?: number;
  /** What stands in FILE. */
  file?: string;
}

/** The commands of contacts and of everything around them. */
export const audienceLines: Record<string, Line> = {
  createContactProperty: {
    words: ['contact-properties', 'create', 'plan', '--type', 'number', '--fallback', '2.5'],
    body: { key: 'plan', type: 'number', fallback_value: 2.5 },
  },
  listContactProperties: { words: ['contact-properties', 'list', ...paging] },
  getContactProperty: { words: ['contact-properties', 'get', ID] },
  updateContactProperty: {
    words: ['contact-properties', 'update', ID, '--fallback', 'x'],
    beside: { '--clear-fallback': 'null in the field' },
  },
  deleteContactProperty: { words: ['contact-properties', 'delete', ID, '--yes'] },
  createContact: {
    words: [
      ...['contacts', 'create', 'a@example.org', '--first-name', 'A', '--last-name', '', '--unsubscribed'],
      ...['--property', 'plan=pro', '--property', 'seats:=3', '--segment', ID, '--topic', `${OTHER}=opt_in`],
    ],
    body: {
      email: 'a@example.org',
      first_name: 'A',
      last_name: null,
      unsubscribed: true,
      properties: { plan: 'pro', seats: 3 },
      segments: [ID],
      topics: [{ id: OTHER, subscription: 'opt_in' }],
    },
  },
  listContacts: { words: ['contacts', 'list', ...paging, '--segment-id', ID] },
  getContact: { words: ['contacts', 'get', 'a@example.org'] },
  updateContact: {
    words: [
      ...['contacts', 'update', 'a@example.org', '--email', 'b@example.org', '--first-name', 'A', '--last-name', 'B'],
      ...['--no-unsubscribed', '--property', 'plan=pro', '--clear-property', 'seats'],
    ],
    body: {
      email: 'b@example.org',
      first_name: 'A',
      last_name: 'B',
      unsubscribed: false,
      properties: { plan: 'pro', seats: null },
    },
  },
  deleteContact: { words: ['contacts', 'delete', 'a@example.org', '--yes'] },
  listContactSegments: { words: ['contacts', 'segments', 'a@example.org', ...paging] },
  addContactToSegment: { words: ['contacts', 'add-segment', 'a@example.org', ID] },
  removeContactFromSegment: { words: ['contacts', 'remove-segment', 'a@example.org', ID] },
  listContactTopics: { words: ['contacts', 'topics', 'a@example.org', ...paging] },
  updateContactTopics: { words: ['contacts', 'set-topics', 'a@example.org', '--topic', `${ID}=opt_out`] },
  listContactActivity: { words: ['contacts', 'activity', 'a@example.org', ...paging] },
  listContactImports: { words: ['contacts', 'imports', ...paging, '--status', 'failed'] },
  getContactImport: { words: ['contacts', 'import-status', ID] },
  getContactImportFailures: { words: ['contacts', 'import-failures', ID] },
  createSegment: {
    words: ['segments', 'create', 'N', '--filter', '{"all":[{"field":"unsubscribed","op":"eq","value":false}]}'],
    beside: { '--filter-file': 'the filter, from a file' },
    body: { name: 'N', filter: { all: [{ field: 'unsubscribed', op: 'eq', value: false }] } },
  },
  listSegments: { words: ['segments', 'list', ...paging] },
  getSegment: { words: ['segments', 'get', ID] },
  updateSegment: { words: ['segments', 'update', ID, '--name', 'N'] },
  deleteSegment: { words: ['segments', 'delete', ID, '--yes'] },
  listSegmentContacts: { words: ['segments', 'contacts', ID, ...paging] },
  getSegmentMetrics: { words: ['segments', 'metrics', ID] },
  previewSegment: {
    words: ['segments', 'preview', '--filter', '{"field":"email","op":"contains","value":"@"}'],
    beside: { '--filter-file': 'the filter, from a file' },
  },
  createInboundRule: {
    words: ['inbound-rules', 'create', '*@example.com', '--action', 'forward', '--forward-to', 'a@example.org'],
    body: { pattern: '*@example.com', action: 'forward', forward_to: ['a@example.org'] },
  },
  listInboundRules: { words: ['inbound-rules', 'list', ...paging] },
  getInboundRule: { words: ['inbound-rules', 'get', ID] },
  updateInboundRule: {
    words: ['inbound-rules', 'update', ID, '--action', 'forward', '--forward-to', 'a@example.org', 'b@example.org'],
    body: { action: 'forward', forward_to: ['a@example.org', 'b@example.org'] },
  },
  deleteInboundRule: { words: ['inbound-rules', 'delete', ID, '--yes'] },
  createTopic: {
    words: [
      ...['topics', 'create', '--name', 'N', '--default-subscription', 'opt_in', '--description', 'D'],
      ...['--visibility', 'public', '--confirmation', 'required', '--confirmation-template-id', OTHER],
    ],
  },
  listTopics: { words: ['topics', 'list', ...paging] },
  getTopic: { words: ['topics', 'get', ID] },
  updateTopic: {
    words: [
      ...['topics', 'update', ID, '--name', 'N', '--description', 'D', '--visibility', 'private'],
      ...['--confirmation', 'required', '--confirmation-template-id', OTHER],
    ],
    without: { id: 'the path says it' },
  },
  deleteTopic: { words: ['topics', 'delete', ID, '--yes'] },
};
