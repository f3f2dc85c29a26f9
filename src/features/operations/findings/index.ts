/**
 * Findings: what is wrong at this moment, and what to do about it. They are read anew at each question and never stored, but
 * for what a process knows of itself alone: it reports that to all others through the database. A look costs the same
 * however much mail, and however many webhooks and domains, there are beside those in trouble.
 */
export { certificateFindings, relayFindings } from './installation-findings.ts';
export { refusalFindings } from './refusal-findings.ts';
export { findingOf, gravestFirst, severityOf, type Finding, type Refusals } from '../../../platform/finding.ts';
export {
  lookAtInstallation,
  lookAtTeam,
  presentForAnybody,
  presentForOperator,
  presentForTeam,
  type Look,
} from './look.ts';
export {
  forgetNode,
  forgetOthersWhereAlone,
  liveNodes,
  runningNodes,
  REPORT_MS,
  reportNode,
  type NodeReport,
} from './node-report.ts';
export {
  type DiskSample,
  recordExamination,
  checkedOf,
  freeBytesOfLate,
  recordFreeBytes,
  type Checked,
  type CheckName,
  type CheckResult,
  type Unknown,
} from './examinations.ts';
export {
  beginNotice,
  endNotice,
  forgetOldNotices,
  forgetWaitingNotices,
  noteChanges,
  noticesAbout,
  type Changes,
  type Notice,
} from './notices.ts';
