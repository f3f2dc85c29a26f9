/**
 * The examination of a machine: what other machines see of it, and what it has left. All checks are made at once and end within
 * `doctor.seconds`; what cannot be found out is `unknown`, and never a finding by itself. What has changed is told once, to
 * the log and to the command or URL of the settings.
 */
export { examinePort25 } from './checks/port25.ts';
export { createDoctor, examineHere, type Doctor } from './doctor.ts';
export { tellNotices, tellOfLoss } from './tell-notices.ts';
