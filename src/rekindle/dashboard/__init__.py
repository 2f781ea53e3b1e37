"""The pages of the dashboard: HTML, CSS and JavaScript as they are sent to browsers, and no Python."""
