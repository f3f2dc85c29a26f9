/**
 * Campaigns: sending broadcasts. A broadcast becomes one email for each member of its segment, page by page, accepted
 * in the same way as all mail. An address gets a broadcast only once, whatever happens to the process, the broadcast or
 * the contact meanwhile, and each excluded address is recorded with the reason.
 */
export { createBroadcastLoop, type Broadcasts } from './sending/process-broadcast.ts';
