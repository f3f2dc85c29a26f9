/**
 * Campaigns: broadcasts on their way. A broadcast becomes one email for each member of its segment, page by page, through
 * accept like all mail. It promises that an address gets a broadcast once, whatever happens to the process, the broadcast or
 * the contact in between, and that each one who is left out is recorded with the reason.
 */
export { createBroadcastLoop, type Broadcasts } from './sending/carry-broadcast.ts';
