import type { ValueId } from '../../../contract/index.ts';

/**
 * The operations that are tools by their own names. Editors take 40 tools in all, and models choose worse among many: with the two
 * general tools, which reach everything else, this is as many as may be listed. What an assistant is asked for every day is here;
 * what deletes, and what sets a team up, is looked up first.
 */
export const CURATED = [
  // Send, and find out what became of it.
  ...(['sendEmail', 'listEmails', 'getEmail', 'listEmailEvents', 'listEmailAttempts'] as const),
  // A scheduled email is moved or called off while there is time: an agent should not have to search for how.
  ...(['updateEmail', 'cancelEmail'] as const),
  // Answers to what was sent.
  ...(['listReceivedEmails', 'getReceivedEmail'] as const),
  'getEmailMetrics',
  // Text that is written with a person, and published once they like it.
  ...(['listTemplates', 'getTemplate', 'createTemplate', 'updateTemplate', 'publishTemplate'] as const),
  // Whom a person means, and what is known of them.
  ...(['listContacts', 'getContact', 'createContact', 'updateContact'] as const),
  // Whom a campaign goes to.
  ...(['listSegments', 'createSegment', 'previewSegment', 'listTopics'] as const),
  // A campaign from its draft to its report; each step shows more before anything is sent.
  ...(['listBroadcasts', 'getBroadcast', 'createBroadcast', 'updateBroadcast', 'previewBroadcast'] as const),
  ...(['getBroadcastChecklist', 'runBroadcastChecks', 'testBroadcast', 'sendBroadcast', 'cancelBroadcast'] as const),
  'listBroadcastRecipients',
  // What starts automations, and whether they run. To draw one up is work for a person with a graph before them.
  ...(['sendEvent', 'listAutomations', 'getAutomation'] as const),
  // Whose name and address the mail bears.
  'getTeam',
] as const satisfies readonly ValueId[];

/** What cannot be taken back once it is done, although its method does not say so. */
export const IRREVOCABLE: ReadonlySet<string> = new Set<ValueId>([
  'sendEmail',
  'sendBatch',
  'replyToInboxEmail',
  'forwardInboxEmail',
  'sendInboxDraft',
  'sendBroadcast',
  'resumeBroadcast',
  'cancelEmail',
  'cancelBroadcast',
  'sendEvent',
  'stopAutomation',
]);

/** What reaches people outside: mail is written to them, or an automation may write to them. */
export const REACHES_PEOPLE: ReadonlySet<string> = new Set<ValueId>([
  'sendEmail',
  'sendBatch',
  'replyToInboxEmail',
  'forwardInboxEmail',
  'sendInboxDraft',
  'sendBroadcast',
  'resumeBroadcast',
  'testBroadcast',
  'sendEvent',
]);
