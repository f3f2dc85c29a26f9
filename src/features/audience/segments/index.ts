/**
 * Segments: parts of a team's contacts, by a filter or by hand. It promises that membership is evaluated when it is read,
 * and that a filter is what it was when the segment was made. Whoever they are is for the contacts to say.
 */
export { createSegment } from './create-segment.ts';
export { declaredFor } from './declared.ts';
export { deleteSegment } from './delete-segment.ts';
export { getSegment, listSegments, presentSegment } from './read-segments.ts';
export { checkedFilter, filterOf, filtersOf, loseProperty, withoutLost } from './read-filter.ts';
export { readSegmentIds, type NamedSegment } from './read-segment-ids.ts';
export { updateSegment } from './update-segment.ts';
export {
  addMembers,
  countSegments,
  findSegment,
  liveSegments,
  membersAmong,
  membershipsOf,
  removeMember,
  removeMembersOfDeleted,
  removeMemberships,
  type MemberRow,
  type SegmentRow,
} from './segments.store.ts';
