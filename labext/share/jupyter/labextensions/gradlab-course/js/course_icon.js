// The course's icon in the launcher.

// A path with steps, which has reached the last one.
const ICON = `<svg xmlns="http://www.w3.org/2000/svg" width="16" height="16" viewBox="0 0 24 24">
<g class="jp-icon3" fill="none" stroke="#616161" stroke-width="2"><path d="M5 19h5v-5h5V9h5"/><circle cx="5" cy="19" r="2"/>
<circle class="jp-icon3 jp-icon-selectable" cx="20" cy="9" r="2" fill="#616161"/></g></svg>`;

export const makeCourseIcon = ({ LabIcon }) => new LabIcon({ name: 'gradlab:course', svgstr: ICON });
