"""Reports as Markdown for tickets and wikis: CommonMark with tables, without HTML."""
