/** Connects the hooks of the stages of mail: what features add to accepting, composing, the queue and receiving. */
import { findLeftEmails } from './features/campaigns/broadcast-recipients/index.ts';
import { mailHoldsAmong } from './features/campaigns/broadcasts/index.ts';
import { countSends } from './features/identity/oauth/index.ts';
import { putIntoThreads } from './features/inbox/inbox-threads/index.ts';
import { findVersionContent as findContent, resolveTemplate as resolve } from './features/templates/templates/index.ts';
import { trackedHtml } from './features/tracking/index.ts';
import { countGrantSends, findVersionContent, resolveTemplate } from './mail/accept/index.ts';
import { trackHtml } from './mail/compose/index.ts';
import { findBroadcastHold } from './mail/queue-admin/index.ts';
import { findEmailsOfLeft } from './mail/queue/index.ts';
import { putIntoInboxes } from './mail/receive/index.ts';

countGrantSends.connect(countSends);
resolveTemplate.connect(resolve);
findVersionContent.connect(findContent);
trackHtml.connect(trackedHtml);
findEmailsOfLeft.connect(findLeftEmails);
findBroadcastHold.connect(async (db, broadcastId) => (await mailHoldsAmong(db, [broadcastId]))[0]);
putIntoInboxes.connect(putIntoThreads);
