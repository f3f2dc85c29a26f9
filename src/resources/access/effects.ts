/**
 * What an operation does to the world, for the limits of a grant. Every operation that an app may reach and that is no GET
 * stands here, which a test holds; what is not known is taken for the most that there is.
 */
export type Effect =
  | 'reads'
  | 'changes'
  /** Mail to recipients that the call names, and that are counted as it is accepted. */
  | 'sends'
  /** Mail to whom somebody else decides: automations that start by it, confirmations that contacts are asked for. */
  | 'starts_mail'
  /** Mail to a segment. */
  | 'sends_broadcast';

type EffectOf = Effect | ((body: Readonly<Record<string, unknown>>) => Effect);

const ofContacts = {
  ...{ createContact: 'starts_mail', updateContact: 'starts_mail', createContactImport: 'starts_mail' },
  ...{ createAudienceContact: 'starts_mail', updateAudienceContact: 'starts_mail' },
  ...{ addContactToSegment: 'starts_mail', updateContactTopics: 'starts_mail' },
  ...{ deleteContact: 'changes', deleteAudienceContact: 'changes', removeContactFromSegment: 'changes' },
  ...{ createContactProperty: 'changes', updateContactProperty: 'changes', deleteContactProperty: 'changes' },
  ...{ createSegment: 'changes', previewSegment: 'reads', updateSegment: 'changes', deleteSegment: 'changes' },
  ...{ createTopic: 'changes', updateTopic: 'changes', deleteTopic: 'changes' },
} as const satisfies Record<string, EffectOf>;

const ofMail = {
  ...{ sendEmail: 'sends', sendBatch: 'sends', cancelEmail: 'changes' },
  // It leaves when the app says, to whom somebody else has chosen, and was counted on another day.
  ...{ updateEmail: 'starts_mail' },
  // Everybody who has the link can read the email.
  ...{ createShare: 'changes' },
  ...{ createTemplate: 'changes', updateTemplate: 'changes', deleteTemplate: 'changes' },
  // Automations send what is published.
  ...{ publishTemplate: 'starts_mail', duplicateTemplate: 'changes' },
} as const satisfies Record<string, EffectOf>;

const ofCampaigns = {
  createBroadcast: ({ send }: Readonly<Record<string, unknown>>) => (send === true ? 'sends_broadcast' : 'changes'),
  ...{ sendBroadcast: 'sends_broadcast', resumeBroadcast: 'sends_broadcast', testBroadcast: 'sends' },
  ...{ updateBroadcast: 'changes', deleteBroadcast: 'changes', cancelBroadcast: 'changes' },
  ...{ duplicateBroadcast: 'changes', runBroadcastChecks: 'reads', previewBroadcast: 'reads' },
  ...{ createImage: 'changes', deleteImage: 'changes' },
} as const satisfies Record<string, EffectOf>;

const ofAutomations = {
  ...{ createEvent: 'changes', sendEvent: 'starts_mail', updateEvent: 'changes', deleteEvent: 'changes' },
  // Disabled where nothing is said.
  createAutomation: ({ status }: Readonly<Record<string, unknown>>) =>
    status === 'enabled' ? 'starts_mail' : 'changes',
  updateAutomation: (body: Readonly<Record<string, unknown>>) =>
    body['status'] === 'disabled' && Object.keys(body).length === 1 ? 'changes' : 'starts_mail',
  ...{ deleteAutomation: 'changes', stopAutomation: 'changes', duplicateAutomation: 'changes' },
} as const satisfies Record<string, EffectOf>;

const ofInboxes = {
  ...{ replyToInboxEmail: 'sends', forwardInboxEmail: 'sends', createInboxDraft: 'changes' },
  ...{ updateInboxDraft: 'changes', deleteInboxDraft: 'changes', sendInboxDraft: 'sends' },
  ...{ updateInboxThread: 'changes', deleteInboxThread: 'changes', addInboxThreadLabels: 'changes' },
  ...{ setInboxThreadLabels: 'changes', removeInboxThreadLabel: 'changes', createInbox: 'changes' },
  ...{ updateInbox: 'changes', deleteInbox: 'changes', createInboxLabel: 'changes' },
  ...{ updateInboxLabel: 'changes', deleteInboxLabel: 'changes', updateInboxAgent: 'changes' },
} as const satisfies Record<string, EffectOf>;

export const EFFECTS: Readonly<Record<string, EffectOf>> = {
  ...ofContacts,
  ...ofMail,
  ...ofCampaigns,
  ...ofAutomations,
  ...ofInboxes,
  ...{ updateTeam: 'changes' },
  // They cost credits, and a model elsewhere reads what they are asked about.
  ...{ suggestSubjectLines: 'changes', draftEmailBody: 'changes', diagnoseEmail: 'changes' },
};

export function effectOf({ operationId, method }: { operationId: string; method: string }, body: unknown): Effect {
  if (method === 'get') return 'reads';
  const effect = Object.hasOwn(EFFECTS, operationId) ? EFFECTS[operationId] : 'sends_broadcast';
  if (typeof effect !== 'function') return effect ?? 'sends_broadcast';
  const isObject = typeof body === 'object' && body !== null && !Array.isArray(body);
  return effect(isObject ? (body as Record<string, unknown>) : {});
}
