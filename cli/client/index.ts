/**
 * The typed client of the API, shared by the command line and the console: where to call, with which key, one call per
 * operation of the contract, and failures as two kinds. It promises that a key read from a file reaches no other
 * server than its own; it never prints, and it never imports the server.
 */
export {
  BY_HAND,
  listOfAdvice,
  seeWhatThereIs,
  type Advice,
  type Advised,
  type Advices,
  type ByHand,
} from './advice.ts';
export type { Browser } from './browser.ts';
export { createClient, type Client, type ClientOptions, type LinkedFile, type StreamCall } from './client.ts';
export type { StreamFrame } from './event-stream.ts';
export {
  checkKey,
  dataOf,
  DEFAULT_URL,
  findTarget,
  OF_MACHINE,
  readUrl,
  type Target,
  type TargetInput,
} from './credentials.ts';
export { mustRun, readDevelopment, startOf, type Development } from './development.ts';
export { CredentialsFault } from './credentials-fault.ts';
export { readHistory, type EmailHistory, type Forwarded } from './email-history.ts';
export { anotherProgram, ApiFault, isInClear, NoAnswer } from './faults.ts';
export { chooseProfile, chosenProfile } from './chosen-profile.ts';
export {
  checkProfile,
  fileOf,
  forgetKey,
  isSession,
  keepKey,
  keptSession,
  listProfiles,
  type Profile,
  lookForStore,
  moveIntoKeyring,
  readEntry,
  type Environment,
} from './kept-keys.ts';
export { describeStore, nameOfKeyring } from './keyring.ts';
export { lookUp, nameOf, type Lookup, type Naming } from './name-of.ts';
export { quoted } from './quoted.ts';
export {
  routeOf,
  type AnswerOf,
  type BodyOf,
  type CallOf,
  type ContractId,
  type OperationId,
  type QueryOf,
} from './routes.ts';
