/**
 * The records that a domain has to publish, as a zone file and as records to compare a zone with, and the memory of
 * what was published for it. The memory outlives the domain, because its records do. Nothing here talks to a name
 * server.
 */
export { findInheritance, type Inheritance, readZone, wantedRecords, computeFingerprint } from './wanted-records.ts';
export {
  addPublished,
  beginSetup,
  endSetup,
  findHeirs,
  findSetup,
  forgetPublished,
  forgetStrandedRecords,
  lockSetups,
  LEAVING,
  noteSetupFault,
  publishedFor,
  saveSetup,
  setupsAfter,
  yieldPublished,
  type Heir,
  type PublishedRow,
  type SetupRow,
} from './dns.store.ts';
