/**
 * Connects the hooks of rules and stores: what features do when a thing is changed or erased. Commands of the operator
 * load this too, so it imports nothing that runs in the background.
 */
import { eraseContactRuns, findEventIds, listDateProperties } from './features/automations/index.ts';
import {
  eraseContactElsewhere,
  findDateProperties,
  findNamedInFilters,
  findPropertyUsers,
  recordEngagement,
  recordLiftedSuppressions,
} from './features/audience/index.ts';
import { broadcastsAmong, eraseRecipient, reportEmailEvents, listPropertyUsers } from './features/campaigns/index.ts';
import { revokeGrantsOfUser } from './features/identity/index.ts';
import { removeInboxEmails, deleteInboxesOfDomain } from './features/inbox/index.ts';
import { erasePayloads } from './features/webhooks/index.ts';
import { deleteOfDomain, findDomain } from './mail/domains/index.ts';
import { recordContactEngagement, reportBroadcastEvents } from './mail/emails/index.ts';
import { eraseOfEndpoints } from './mail/events/index.ts';
import { removeFromInboxes } from './mail/received-emails/index.ts';
import { noteLiftedSuppressions } from './mail/suppressions/index.ts';
import { isVerifiedDomain } from './tenancy/api-keys/index.ts';
import { revokeGrants } from './tenancy/users/index.ts';

revokeGrants.connect((tx, userId, at) => revokeGrantsOfUser(tx, userId, { at, reason: 'operator' }));
isVerifiedDomain.connect(async (tx, teamId, domainId) => {
  const domain = await findDomain(tx, teamId, domainId);
  return (domain?.verified_at ?? null) !== null;
});
eraseOfEndpoints.connect(erasePayloads);
deleteOfDomain.connect(deleteInboxesOfDomain);
noteLiftedSuppressions.connect(recordLiftedSuppressions);
findPropertyUsers.connect(listPropertyUsers);
findDateProperties.connect(listDateProperties);
removeFromInboxes.connect(async (tx, ids) => void (await removeInboxEmails(tx, ids)));
reportBroadcastEvents.connect(reportEmailEvents);
recordContactEngagement.connect(recordEngagement);
findNamedInFilters.connect(async (db, teamId, { broadcasts, events }) => ({
  broadcasts: await broadcastsAmong(db, teamId, broadcasts),
  events: await findEventIds(db, teamId, events),
}));
eraseContactElsewhere.connect(async (tx, { teamId, contactId, emailKey, at }) => ({
  ...(await eraseContactRuns(tx, contactId, at)),
  broadcast_recipients: await eraseRecipient(tx, teamId, emailKey),
}));
