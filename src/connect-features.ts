/** Connects the hooks of the stages of mail: what features add to accepting, composing, the queue and receiving. */
import { unsubscribeByMail } from './features/audience/index.ts';
import { findOptedOutEmails, findQuietEmails, mailHoldsAmong } from './features/campaigns/index.ts';
import { countSends } from './features/identity/index.ts';
import { putIntoThreads } from './features/inbox/index.ts';
import { findVersionContent as findContent, resolveTemplate as resolve } from './features/templates/index.ts';
import { trackedHtml } from './features/tracking/index.ts';
import { countAppSends, findVersionContent, resolveTemplate } from './mail/accept/index.ts';
import { trackHtml } from './mail/compose/index.ts';
import { findBroadcastHold } from './mail/queue-admin/index.ts';
import { findEmailsOfOptedOut, findQuietMail } from './mail/queue/index.ts';
import { applyUnsubscribeMail, putIntoInboxes } from './mail/receive/index.ts';

countAppSends.connect(countSends);
resolveTemplate.connect(resolve);
findVersionContent.connect(findContent);
trackHtml.connect(trackedHtml);
findEmailsOfOptedOut.connect(findOptedOutEmails);
findQuietMail.connect(findQuietEmails);
findBroadcastHold.connect(async (db, broadcastId) => (await mailHoldsAmong(db, [broadcastId]))[0]);
putIntoInboxes.connect(putIntoThreads);
applyUnsubscribeMail.connect(unsubscribeByMail);
